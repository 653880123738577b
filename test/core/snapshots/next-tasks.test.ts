import { expect, test } from 'vitest'
import { nextTasks, type WaitingTask } from '../../../src/core/snapshots/index.ts'

const aTurn = (tenantId: string, change: Partial<WaitingTask> = {}): WaitingTask => ({
  tenantId,
  task: 'daily',
  askedAt: '2026-01-05T01:15:00.000Z',
  hostId: 'h1',
  free: true,
  ...change,
})
const turnsOf = (waiting: readonly WaitingTask[], busy: readonly string[] = []) =>
  nextTasks(waiting, new Set(busy)).map(({ tenantId, task }) => `${tenantId} ${task}`)

test('one task at a time on each host', () => {
  expect(turnsOf([aTurn('a'), aTurn('b'), aTurn('c', { hostId: 'h2' })])).toEqual(['a daily', 'c daily'])
})

test('a host that is busy starts nothing', () => {
  expect(turnsOf([aTurn('a'), aTurn('b', { hostId: 'h2' })], ['h1'])).toEqual(['b daily'])
})

test('the task of a box that is not free does not block others', () => {
  expect(turnsOf([aTurn('a', { free: false }), aTurn('b')])).toEqual(['b daily'])
  expect(turnsOf([aTurn('a', { free: false })])).toEqual([])
})

test('a missing snapshot goes before pruning, pruning before a drill, and older tasks first', () => {
  const [drill, prune] = [aTurn('a', { task: 'drill' }), aTurn('b', { task: 'prune' })]
  const late = aTurn('c', { askedAt: '2026-01-05T01:16:00.000Z' })
  expect(turnsOf([drill, prune, late, aTurn('d')])).toEqual(['d daily'])
  expect(turnsOf([drill, prune, late])).toEqual(['c daily'])
  expect(turnsOf([drill, prune])).toEqual(['b prune'])
})
