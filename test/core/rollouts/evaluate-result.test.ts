import { expect, test } from 'vitest'
import type { RestoreResult, UpdateResult } from '../../../src/core/boxes/index.ts'
import { evaluateImageRollback, evaluateSnapshotRollback } from '../../../src/core/rollouts/index.ts'
import { aReport } from '../../support/boxes.ts'

const error = { code: 'PROBE_FAILED', message: 'no' }
const update = (change: Partial<UpdateResult>) =>
  ({
    outcome: 'committed',
    healthOk: true,
    digestsBefore: {},
    digestsAfter: { synapse: 'sha256:old' },
    error: null,
    ...change,
  }) as UpdateResult
const services = (digest: string | null) => ({ synapse: { image: 'x', digest, state: 'running', restartCount: 0 } }) as never
const restore = (change: Partial<RestoreResult>) =>
  ({ outcome: 'restored', report: aReport('a', { services: services('sha256:old') }), error: null, ...change }) as RestoreResult

test.each([
  ['committed with the former digests', {}, 'done', 'rolled_back', undefined],
  ['not begun', { outcome: 'failed', error }, 'failed', 'succeeded', 'PROBE_FAILED'],
  ['gone back to the new release', { outcome: 'rolled_back', error }, 'failed', 'succeeded', 'PROBE_FAILED'],
  [
    'said to have gone back to the new release, with another image',
    { outcome: 'rolled_back', error, digestsBefore: { synapse: 'sha256:new' }, digestsAfter: { synapse: 'sha256:old' } },
    ...(['failed', 'failed', 'DIGEST_MISMATCH'] as const),
  ],
  ['at rest', { outcome: 'rollback_failed', error }, 'failed', 'rollback_failed', 'PROBE_FAILED'],
  ['said to be done, with another image', { digestsAfter: { synapse: 'sha256:new' } }, 'failed', 'failed', 'DIGEST_MISMATCH'],
  ['said to be done without proof', { healthOk: false }, 'failed', 'failed', 'PROBE_FAILED'],
] as const)('by images: %s', (_, change, rollback, status, code) => {
  const verdict = evaluateImageRollback(update(change), { synapse: 'sha256:old' })
  expect([verdict.rollback, verdict.status, verdict.error?.code]).toEqual([rollback, status, code])
})

test.each([
  ['restored with the former digests', {}, 'done', 'rolled_back', undefined],
  ['as it was before', { outcome: 'failed', error }, 'failed', 'succeeded', 'PROBE_FAILED'],
  ['at rest', { outcome: 'restore_failed', error: null }, 'failed', 'rollback_failed', 'INTERNAL'],
  [
    'said to be restored, with another image',
    { report: aReport('a', { services: services('sha256:new') }) },
    'failed',
    'failed',
    'DIGEST_MISMATCH',
  ],
  ['said to be restored, and nobody saw it', { report: null }, 'failed', 'failed', 'DIGEST_MISMATCH'],
] as const)('by snapshot: %s', (_, change, rollback, status, code) => {
  const verdict = evaluateSnapshotRollback(restore(change), { synapse: 'sha256:old', edge: null })
  expect([verdict.rollback, verdict.status, verdict.error?.code]).toEqual([rollback, status, code])
})
