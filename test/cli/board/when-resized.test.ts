import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { whenResized } from '../../../src/cli/board/index.ts'

function aTerminal() {
  const told: string[] = []
  const terminal = Object.assign(new EventEmitter(), { columns: 120, rows: 3, write: (text: string) => told.push(text) })
  terminal.on('resize', () => told.push('ink'))
  const stop = whenResized(terminal, () => told.push('draw'))
  const resize = (columns: number) => {
    Object.assign(terminal, { columns })
    terminal.emit('resize')
    return told.splice(0)
  }
  return { resize, stop }
}

test('a narrower terminal has its broken lines moved out of sight, once; then only the board stands on it, and is erased', () => {
  const { resize } = aTerminal()
  expect(resize(80)).toEqual(['\u001b[3;1H\n\n\n\u001b[H', 'draw', 'ink'])
  expect(resize(60)).toEqual(['\u001b[H\u001b[J', 'draw', 'ink'])
})

test('a wider one breaks nothing: it is drawn anew for its new size, before ink draws what was meant for the old one', () => {
  const { resize, stop } = aTerminal()
  expect(resize(140)).toEqual(['draw', 'ink'])
  stop()
  expect(resize(100)).toEqual(['ink'])
})
