import { expect, test } from 'vitest'
import { quarantineReason } from '../../../src/core/boxes/index.ts'

const command = (kind: string, result: unknown, more: { commandId?: string; ownershipEpoch?: number; holder?: string } = {}) => ({
  commandId: more.commandId ?? 'the-owner',
  kind: `tenant-box.${kind}`,
  payload: { ownershipEpoch: more.ownershipEpoch ?? 1 },
  entries: more.holder === undefined ? [] : [{ step: 'start', mark: 'done', data: { holder: more.holder } }],
  closed: result === undefined ? null : { result },
})
const ours = { ownershipEpoch: 1 }
const handedOver = { ownershipEpoch: 1, handedOver: { at: '', holder: 'the-owner' } }
const given = { result: { snapshot: {} } }
const back = (holder: string, result: unknown = { result: { error: { code: 'INTERNAL' } } }) =>
  command('take_back', result, { commandId: 'back', holder })

test.each([
  ['an update whose rollback failed', ours, [command('update', { outcome: 'rollback_failed' })], 'rollback'],
  ['an update that was rolled back', ours, [command('update', { outcome: 'rolled_back' })], undefined],
  ['a running update', ours, [command('update', undefined)], undefined],
  ['a restore whose rollback failed', ours, [command('restore', { outcome: 'restore_failed' })], 'rollback'],
  ['a failed hand-over whose rollback failed', ours, [command('hand_over', { failure: { code: 'DISK_FULL' } })], 'rollback'],
  [
    'a failed hand-over that could not delete its record',
    handedOver,
    [command('hand_over', { failure: { code: 'DISK_FULL' } })],
    'rollback',
  ],
  [
    'a failed hand-over whose box another host has since',
    { ...handedOver, ownershipEpoch: 2 },
    [command('hand_over', { failure: { code: 'DISK_FULL' } })],
    undefined,
  ],
  ['a hand-over', handedOver, [command('hand_over', given)], undefined],
  ['a hand-over without a take-back', ours, [command('hand_over', given)], undefined],
  ['a hand-over that was taken back', ours, [command('hand_over', given), back('the-owner')], 'unfence'],
  ['a taken back hand-over that is no longer in the journal', ours, [back('the-owner')], 'unfence'],
  ['a box that another host has again', handedOver, [command('hand_over', given), back('the-owner')], undefined],
  ['a take-back that failed', ours, [command('hand_over', given), back('the-owner', { failure: { code: 'PROBE_FAILED' } })], undefined],
  ['a take-back of another fence', ours, [command('hand_over', given), back('another')], undefined],
  ['a take-over that was not unfenced', ours, [command('take_over', { outcome: 'restored', error: { code: 'INTERNAL' } })], 'unfence'],
  ['a take-over that was unfenced', ours, [command('take_over', { outcome: 'restored', error: null })], undefined],
  ['an unknown owner', ours, [], undefined],
] as const)('behind the fence of %s', (_, box, commands, expected) => {
  expect(quarantineReason('the-owner', box, commands)).toBe(expected)
})
