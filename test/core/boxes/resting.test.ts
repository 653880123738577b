import { expect, test } from 'vitest'
import { quarantineReason } from '../../../src/core/boxes/index.ts'

const command = (kind: string, result: unknown, more: { commandId?: string; ownershipEpoch?: number; holder?: string } = {}) => ({
  commandId: more.commandId ?? 'the-holder',
  kind: `tenant-box.${kind}`,
  payload: { ownershipEpoch: more.ownershipEpoch ?? 1 },
  entries: more.holder === undefined ? [] : [{ step: 'start', mark: 'done', data: { holder: more.holder } }],
  closed: result === undefined ? null : { result },
})
const ours = { ownershipEpoch: 1 }
const handedOver = { ownershipEpoch: 1, handedOver: { at: '', holder: 'the-holder' } }
const given = { result: { snapshot: {} } }
const back = (holder: string, result: unknown = { result: { error: { code: 'INTERNAL' } } }) =>
  command('take_back', result, { commandId: 'back', holder })

test.each([
  ['an update whose way back failed', ours, [command('update', { outcome: 'rollback_failed' })], 'rollback'],
  ['an update that was rolled back', ours, [command('update', { outcome: 'rolled_back' })], undefined],
  ['an update that is under way', ours, [command('update', undefined)], undefined],
  ['a restore whose way back failed', ours, [command('restore', { outcome: 'restore_failed' })], 'rollback'],
  ['a hand-over that failed, and so did its way back', ours, [command('hand_over', { failure: { code: 'DISK_FULL' } })], 'rollback'],
  ['one that could not even take its record back', handedOver, [command('hand_over', { failure: { code: 'DISK_FULL' } })], 'rollback'],
  [
    'one whose box another host got later',
    { ...handedOver, ownershipEpoch: 2 },
    [command('hand_over', { failure: { code: 'DISK_FULL' } })],
    undefined,
  ],
  ['a hand-over', handedOver, [command('hand_over', given)], undefined],
  ['a hand-over of which no take-back is known', ours, [command('hand_over', given)], undefined],
  ['a hand-over that was taken back', ours, [command('hand_over', given), back('the-holder')], 'unfence'],
  ['a hand-over that was taken back by a journal that has forgotten it', ours, [back('the-holder')], 'unfence'],
  ['a box that is another host’s again', handedOver, [command('hand_over', given), back('the-holder')], undefined],
  ['a take-back that failed', ours, [command('hand_over', given), back('the-holder', { failure: { code: 'PROBE_FAILED' } })], undefined],
  ['a take-back of another fence', ours, [command('hand_over', given), back('another')], undefined],
  ['a take-over that was not opened', ours, [command('take_over', { outcome: 'restored', error: { code: 'INTERNAL' } })], 'unfence'],
  ['a take-over that was opened', ours, [command('take_over', { outcome: 'restored', error: null })], undefined],
  ['nobody who is known', ours, [], undefined],
] as const)('behind the fence of %s', (_, box, commands, expected) => {
  expect(quarantineReason('the-holder', box, commands)).toBe(expected)
})
