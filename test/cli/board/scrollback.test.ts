import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { preserveScrollback } from '../../../src/cli/board/index.ts'

/** The sequence ink writes when a board no longer fits its terminal. */
const clearAll = '\u001b[2J\u001b[3J\u001b[H'

class Terminal extends EventEmitter {
  readonly isTTY = true
  columns = 40
  rows = 10
  readonly written: unknown[] = []

  write(text: string | Uint8Array, called?: () => void): boolean {
    this.written.push(text)
    called?.()
    return true
  }
}

test('a terminal that loses height under a board keeps its scrollback', () => {
  const terminal = new Terminal()
  let called = 0
  preserveScrollback(terminal as never as NodeJS.WriteStream).write(`${clearAll}the board`, () => called++)
  expect(terminal.written).toEqual(['\u001b[H\u001b[Jthe board'])
  expect(called).toBe(1)
})

test('all else passes through: current size, events, binary data', () => {
  const terminal = new Terminal()
  const wrapped = preserveScrollback(terminal as never as NodeJS.WriteStream)
  const sizes: number[] = []
  wrapped.on('resize', () => sizes.push(wrapped.rows))
  Object.assign(terminal, { rows: 4 })
  terminal.emit('resize')
  wrapped.write(new Uint8Array([1]))
  expect([sizes, terminal.written, wrapped.isTTY]).toEqual([[4], [new Uint8Array([1])], true])
})
