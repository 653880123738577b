import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { onResize } from '../../../src/cli/board/index.ts'

function aTerminal() {
  const calls: string[] = []
  const terminal = Object.assign(new EventEmitter(), { columns: 120, rows: 3, write: (text: string) => calls.push(text) })
  terminal.on('resize', () => calls.push('ink'))
  const stop = onResize(terminal, () => calls.push('draw'))
  const resize = (columns: number) => {
    Object.assign(terminal, { columns })
    terminal.emit('resize')
    return calls.splice(0)
  }
  return { resize, stop }
}

test('a narrower terminal scrolls the rewrapped lines away once; later only the board is cleared', () => {
  const { resize } = aTerminal()
  expect(resize(80)).toEqual(['\u001b[3;1H\n\n\n\u001b[H', 'draw', 'ink'])
  expect(resize(60)).toEqual(['\u001b[H\u001b[J', 'draw', 'ink'])
})

test('a wider terminal is redrawn for its new size before ink draws for the old one', () => {
  const { resize, stop } = aTerminal()
  expect(resize(140)).toEqual(['draw', 'ink'])
  stop()
  expect(resize(100)).toEqual(['ink'])
})
