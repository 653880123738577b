import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { keptScrollback } from '../../../src/cli/board/index.ts'

/** As ink does it where a board is higher than its terminal has become. */
const emptiesAll = '\u001b[2J\u001b[3J\u001b[H'

class Terminal extends EventEmitter {
  readonly isTTY = true
  columns = 40
  rows = 10
  readonly written: unknown[] = []

  write(text: string | Uint8Array, told?: () => void): boolean {
    this.written.push(text)
    told?.()
    return true
  }
}

test('a terminal that loses height under a board keeps what was typed before it', () => {
  const terminal = new Terminal()
  let told = 0
  keptScrollback(terminal as never as NodeJS.WriteStream).write(`${emptiesAll}the board`, () => told++)
  expect(terminal.written).toEqual(['\u001b[H\u001b[Jthe board'])
  expect(told).toBe(1)
})

test('all else is the terminal itself: its size as it is now, its events, and what is no text', () => {
  const terminal = new Terminal()
  const kept = keptScrollback(terminal as never as NodeJS.WriteStream)
  const sizes: number[] = []
  kept.on('resize', () => sizes.push(kept.rows))
  Object.assign(terminal, { rows: 4 })
  terminal.emit('resize')
  kept.write(new Uint8Array([1]))
  expect([sizes, terminal.written, kept.isTTY]).toEqual([[4], [new Uint8Array([1])], true])
})
