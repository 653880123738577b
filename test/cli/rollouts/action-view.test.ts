import { expect, test } from 'vitest'
import { paintWith, type Style } from '../../../src/cli/kit/index.ts'
import { actionView } from '../../../src/cli/rollouts/show.ts'
import { errorOf, type RolloutAction, type RolloutAttempt } from '../../../src/core/rollouts/index.ts'
import { at } from '../../support/records.ts'

const style: Style = { width: 120, colour: false, paint: paintWith(false), now: new Date(at('02:00:00')) }
const action = {
  tenantSlug: 'oak',
  rolloutId: 'ro_1',
  phase: 'canary',
  status: 'succeeded',
  from: {},
  to: {},
  findings: [],
  rollback: null,
}
const steps = [
  { step: 'pull', at: at('01:00:00'), durationMs: 9000 },
  { step: 'warm-snapshot', at: at('01:00:09'), durationMs: null },
]
const shown = (durationMs: number | null, restored: RolloutAttempt['restored'] = null, error: RolloutAttempt['error'] = null) => {
  const attempt = {
    kind: 'update',
    attempt: 1,
    status: 'succeeded',
    startedAt: at('01:00:00'),
    durationMs,
    fencedMs: null,
    error,
    steps,
    restored,
  }
  const proof = { probes: [], digestsBefore: {}, digestsAfter: {}, snapshotId: null, snapshotSha256: null, composeBackup: null }
  return actionView(
    { action: action as unknown as RolloutAction, attempts: [{ ...attempt, ...proof } as unknown as RolloutAttempt] },
    style,
  )
}

test('a step without an end is shown as running only while its attempt runs', () => {
  expect(shown(null)).toContain('images 9 s, warm snapshot …')
  expect(shown(60_000)).toMatch(/images 9 s, warm snapshot$/m)
})

test('a database restore shows its source, duration and the duration of the copy', () => {
  expect(shown(60_000)).not.toContain('restored from')
  expect(shown(60_000, { from: 'cold-copy', tookMs: 2_000, copiedMs: 9_000 })).toMatch(
    /database +restored from cold copy in 2 s \(copied in 9 s\)$/m,
  )
  expect(shown(60_000, { from: 'dump', tookMs: 61_000 })).toMatch(/database +restored from dump in 1 min 1 s$/m)
})

test('an error shows shortened digests', () => {
  const [wanted, found] = ['a'.repeat(64), 'b'.repeat(64)]
  const error = { code: 'DIGEST_MISMATCH', message: `synapse:v1 is sha256:${found} and not sha256:${wanted}` }
  expect(shown(60_000, null, error)).toMatch(/error +synapse:v1 is sha256:b{12} and not sha256:a{12} \[DIGEST_MISMATCH\]$/m)
  expect(errorOf({ error, rollback: null })?.message).toBe(`synapse:v1 is sha256:${'b'.repeat(12)} and not sha256:${'a'.repeat(12)}`)
})
