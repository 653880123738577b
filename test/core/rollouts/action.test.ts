import { expect, test } from 'vitest'
import { attemptSteps, endOfCommand, isSnapshotStored } from '../../../src/core/rollouts/index.ts'

const at = (clock: string) => `2026-01-05T${clock}.000Z`

test('a step lasts until the next one of its command, the last one until its end', () => {
  const steps = attemptSteps([
    { steps: [{ step: 'pull', at: at('02:00:00') }], endedAt: at('02:00:30') },
    {
      steps: [
        { step: 'fence', at: at('02:01:00') },
        { step: 'snapshot', at: at('02:01:02') },
      ],
      endedAt: at('02:01:42'),
    },
  ])
  expect(steps.map(({ step, durationMs }) => [step, durationMs])).toEqual([
    ['pull', 30_000],
    ['fence', 2000],
    ['snapshot', 40_000],
  ])
})

test('clocks that disagree make no negative time, and what has not ended has none', () => {
  const back = {
    steps: [
      { step: 'fence', at: at('02:05:00') },
      { step: 'stop', at: at('02:04:00') },
    ],
    endedAt: null,
  }
  expect(attemptSteps([back]).map(({ durationMs }) => durationMs)).toEqual([0, null])
})

test('a command ends by its agent’s own clock or not at all: when the daemon heard of it is another clock', () => {
  const steps = [{ step: 'fence', at: at('02:00:00') }]
  expect(endOfCommand(steps, 90_000)).toBe(at('02:01:30'))
  expect(endOfCommand(steps, null)).toBeNull()
  expect(endOfCommand([], 90_000)).toBeNull()
})

test.each([
  ['of a committed box was stored', { snapshotOk: true, rolledBack: false, error: null }, true],
  ['that failed is the failure', { snapshotOk: false, rolledBack: false, error: { code: 'SNAPSHOT_FAILED', message: '' } }, false],
  ['that rolled an open box back failed', { snapshotOk: false, rolledBack: true, error: { code: 'SNAPSHOT_FAILED', message: '' } }, false],
  ['of a box that was rolled back to its copy was not reached', { snapshotOk: false, rolledBack: true, error: null }, null],
])('the snapshot %s', (_, action, stored) => {
  expect(isSnapshotStored(action)).toBe(stored)
})
