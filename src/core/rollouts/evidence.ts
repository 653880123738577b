import { z } from 'zod'
import type { RolloutAttempt } from './action.ts'

type Whose = Readonly<{ rolloutId: string; tenantSlug: string }>

/**
 * What one attempt left behind, as it is bound to the audit chain: the entry of its end holds the sum of this. The fields are named one by
 * one and stay for ever: sums that are written must fit what is read years later. New facts belong into a new version: the second tells how
 * the database came back, and is written only where there is that to tell.
 */
export function evidenceOf({ rolloutId, tenantSlug }: Whose, attempt: RolloutAttempt) {
  const { kind, status, startedAt, finishedAt, durationMs, fencedMs, error } = attempt
  const { imagesBefore, digestsBefore, digestsAfter, snapshotId, snapshotSha256, composeBackup, probes, steps, report, restored } = attempt
  return {
    ...(restored === null ? { version: 1 as const } : { version: 2 as const, restored }),
    rolloutId,
    tenantSlug,
    attempt: attempt.attempt,
    ...{ kind, status, startedAt, finishedAt, durationMs, fencedMs, error },
    ...{ imagesBefore, digestsBefore, digestsAfter, snapshotId, snapshotSha256, composeBackup, probes, steps, report },
  }
}

/** On the wire nothing of it is taken away or put in: its sum would not fit any more. */
export const AttemptEvidence = z.looseObject({
  version: z.literal([1, 2]),
  rolloutId: z.string(),
  tenantSlug: z.string(),
  attempt: z.int(),
  status: z.string(),
})
export type AttemptEvidence = z.infer<typeof AttemptEvidence>
