import { z } from 'zod'
import { InstalledVersions, VersionedService } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { RollbackMode } from './action.ts'
import { Finding } from './finding.ts'

/** How one updated box would be brought back. */
export const PlannedRollback = z.object({
  tenantSlug: z.string(),
  boxId: z.string(),
  hostId: z.string(),
  hostName: z.string(),
  does: z.enum(['undo', 'refuse']),
  from: InstalledVersions,
  to: InstalledVersions,
  /** By images: what each changing service would run again. */
  images: z.partialRecord(VersionedService, z.object({ image: z.string(), digest: z.string() })),
  /** By snapshot: the one from before the update. */
  snapshotId: z.string().nullable(),
  /** By snapshot: everything that was written in the box since then is lost; null where nothing is. */
  losesSince: Timestamp.nullable(),
  losesMs: z.number(),
  findings: z.array(Finding),
})
export type PlannedRollback = z.infer<typeof PlannedRollback>

/** The way back of a rollout, box by box in the order in which they would go: the last that was updated first. */
export const RollbackPlan = z.object({
  rolloutId: z.string(),
  mode: RollbackMode,
  madeAt: Timestamp,
  boxes: z.array(PlannedRollback),
  undoes: z.number().int(),
  refusals: z.number().int(),
})
export type RollbackPlan = z.infer<typeof RollbackPlan>
