import { expect, test } from 'vitest'
import { type PastRollback, proposeFenceMode } from '../../../src/core/rollouts/plan-expectations.ts'

const from = { migrationsHead: '0000', postgres: '15.15', synapse: '1.157.1', minio: '2026-01-01' }
const to = { ...from, synapse: '1.163.2' }
const moving = { does: 'update' as const, from, to, changes: ['synapse' as const] }
const back: PastRollback = { from, to, status: 'undone' }
const proposed = (boxes: Parameters<typeof proposeFenceMode>[0], rollbacks: readonly PastRollback[]) =>
  proposeFenceMode(boxes, { kind: 'staged', rollbacks })

test('opening chats early is proposed where a box has gone back by images from the very same update', () => {
  expect(proposed([moving], [back])).toBe('until-first-ok')
  expect(proposed([moving, { ...moving, does: 'skip', from: to }], [back, back])).toBe('until-first-ok')
})

test.each<[string, Parameters<typeof proposed>]>([
  ['nobody has gone back', [[moving], []]],
  ['nothing moves', [[{ ...moving, does: 'refuse' }], [back]]],
  ['one box moves from elsewhere', [[moving, { ...moving, from: { ...from, synapse: '1.150.0' } }], [back]]],
  ['the way back was from another version', [[moving], [{ ...back, to: { ...to, synapse: '1.163.1' } }]]],
  ['the way back also crossed a migration', [[moving], [{ ...back, to: { ...to, migrationsHead: '0001' } }]]],
  ['one of the same update has failed', [[moving], [back, { ...back, status: 'failed' }, back]]],
  ['the object store moves too, which never goes back', [[{ ...moving, changes: ['synapse', 'minio'] }], [back]]],
  [
    'nobody knows what ran before',
    [[{ ...moving, from: { ...from, synapse: 'unknown' } }], [{ ...back, from: { ...from, synapse: 'unknown' } }]],
  ],
])('nothing is proposed where %s', (_, [boxes, rollbacks]) => {
  expect(proposed(boxes, rollbacks)).toBeUndefined()
})

test('an emergency always takes the usual way', () => {
  expect(proposeFenceMode([moving], { kind: 'emergency_cve', rollbacks: [back] })).toBeUndefined()
})
