import { expect, test } from 'vitest'
import { passedElements } from '../../src/console/boards/passed.ts'

const kinds = { s: 'start', f: 'form', p: 'parallel_split', a: 'task', b: 'task', j: 'parallel_join', e: 'end' }
const edges = ['sf', 'fp', 'pa', 'pb', 'aj', 'bj', 'je'].map(([source = '', target = '']) => ({ source, target, condition: 'always' }))
const board = {
  elements: Object.entries(kinds).map(([id, kind]) => ({ id, kind, label: id, columnId: null })),
  edges,
} as unknown as Parameters<typeof passedElements>[0]
const passed = (done: string, active: string, status: 'waiting' | 'completed') =>
  [...passedElements(board, { doneElementIds: [...done], activeElementIds: [...active], status })].toSorted().join('')

test('a split is passed once an element behind it is reached, a join once the run is behind it', () => {
  expect(passed('', 'f', 'waiting')).toBe('s')
  expect(passed('f', 'ab', 'waiting')).toBe('fps')
  expect(passed('fa', 'b', 'waiting')).toBe('afps')
  expect(passed('fab', '', 'completed')).toBe('abefjps')
})
