import { expect, test } from 'vitest'
import { type Look, paintWith } from '../../../src/cli/kit/index.ts'
import { actionView } from '../../../src/cli/rollouts/action.view.ts'
import type { RolloutAction, RolloutAttempt } from '../../../src/core/rollouts/index.ts'
import { at } from '../../support/records.ts'

const look: Look = { width: 120, colour: false, paint: paintWith(false), now: new Date(at('02:00:00')) }
const action = { tenantSlug: 'oak', rolloutId: 'ro_1', phase: 'canary', status: 'succeeded', from: {}, to: {}, findings: [], undo: null }
const steps = [
  { step: 'pull', at: at('01:00:00'), durationMs: 9000 },
  { step: 'warm-snapshot', at: at('01:00:09'), durationMs: null },
]
const shown = (durationMs: number | null, restored: RolloutAttempt['restored'] = null) => {
  const attempt = {
    kind: 'update',
    attempt: 1,
    status: 'succeeded',
    startedAt: at('01:00:00'),
    durationMs,
    fencedMs: null,
    error: null,
    steps,
    restored,
  }
  const proof = { probes: [], digestsBefore: {}, digestsAfter: {}, snapshotId: null, snapshotSha256: null, composeBackup: null }
  return actionView({ action: action as unknown as RolloutAction, attempts: [{ ...attempt, ...proof } as unknown as RolloutAttempt] }, look)
}

test('a step without an end goes on while its attempt does; afterwards it has no time, and no dots either', () => {
  expect(shown(null)).toContain('images 9 s, warm snapshot …')
  expect(shown(60_000)).toMatch(/images 9 s, warm snapshot$/m)
})

test('how the database came back is told with its time, and beside it what the copy cost', () => {
  expect(shown(60_000)).not.toContain('database back')
  expect(shown(60_000, { from: 'cold-copy', tookMs: 2_000, copiedMs: 9_000 })).toMatch(
    /database back +from its cold copy in 2 s \(the copy was made in 9 s\)$/m,
  )
  expect(shown(60_000, { from: 'dump', tookMs: 61_000 })).toMatch(/database back +from the dump in 1 min 1 s$/m)
})
