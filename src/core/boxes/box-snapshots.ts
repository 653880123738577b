import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { SnapshotTier } from './command-parts.ts'

/** What a box could be brought back to, and the proof that it would work. */
export const BoxSnapshots = z.object({
  /** The newest one; null when it has none. */
  lastSnapshot: z.object({ snapshotId: z.string(), tier: SnapshotTier, takenAt: Timestamp }).nullable(),
  /** When its data last came back, in a drill or for good, and how long that took. */
  lastProvenRestore: z.object({ at: Timestamp, durationMs: z.number().nullable(), snapshotId: z.string() }).nullable(),
})
export type BoxSnapshots = z.infer<typeof BoxSnapshots>
