import { expect, test } from 'vitest'
import { UpdateStep } from '../../../src/core/boxes/index.ts'
import { type ActionStatus, statusAfter } from '../../../src/core/rollouts/index.ts'

const there = ['prefetch', 'fence', 'stop', 'snapshot', 'rewrite', 'recreate', 'probe', 'commit', 'unfence'] as const

test.each<[string, ActionStatus]>([
  ['pull', 'pulling'],
  ['warm-snapshot', 'pulling'],
  ['prefetch', 'pulling'],
  ['fence', 'snapshotting'],
  ['stop', 'snapshotting'],
  ['snapshot', 'snapshotting'],
  ['rewrite', 'updating'],
  ['recreate', 'updating'],
  ['probe', 'probing'],
  ['commit', 'probing'],
  ['restore-stop', 'rolling_back'],
  ['restore-data', 'rolling_back'],
  ['restore-start', 'rolling_back'],
  ['restore-probe', 'rolling_back'],
])('an action at the step %s is %s', (step, status) => {
  expect(statusAfter([step], 'preflight')).toBe(status)
})

test('every step of an update but lifting the fence means a status', () => {
  expect(UpdateStep.options.filter((step) => statusAfter([step], 'preflight') === 'preflight')).toEqual(['unfence'])
})

test.each<[readonly string[], ActionStatus, ActionStatus]>([
  [there, 'pulling', 'probing'],
  [['commit', 'unfence'], 'pulling', 'probing'],
  [['unfence'], 'probing', 'probing'],
  [['probe', 'restore-stop', 'restore-data', 'restore-start', 'restore-probe', 'unfence'], 'pulling', 'rolling_back'],
  [['unfence'], 'rolling_back', 'rolling_back'],
  [['fence', 'restore-stop'], 'rolling_back', 'rolling_back'],
  [there, 'rolling_back', 'rolling_back'],
  [['waiting'], 'updating', 'updating'],
  [['toString'], 'updating', 'updating'],
  [[], 'preflight', 'preflight'],
])('steps told at once, %j, lead from %s to %s', (steps, before, after) => {
  expect(statusAfter(steps, before)).toBe(after)
})
