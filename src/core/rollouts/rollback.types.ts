import { z } from 'zod'
import { InstalledVersions, VersionedService } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { Finding } from './finding.ts'

/** A successful update of a rollout, from its evidence. */
export type CompletedUpdate = Readonly<{
  slug: string
  boxId: string
  hostId: string
  finishedAt: string
  from: InstalledVersions
  to: InstalledVersions
  imagesBefore: Readonly<Record<string, string>>
  digestsBefore: Readonly<Record<string, string | null>>
  digestsAfter: Readonly<Record<string, string | null>>
  /** Background updates that the former chat server was running. */
  backgroundBefore: readonly string[]
  /** Null when the update reported none, or the registry does not know it. */
  snapshot: StoredSnapshot | null
}>

/** How one updated box would be rolled back. */
export const PlannedRollback = z.object({
  tenantSlug: z.string(),
  boxId: z.string(),
  hostId: z.string(),
  hostName: z.string(),
  /** `skip`: it runs the versions from before the update already. */
  does: z.enum(['rollback', 'skip', 'refuse']),
  from: InstalledVersions,
  to: InstalledVersions,
  /** By images: the former image of each service that changes. */
  images: z.partialRecord(VersionedService, z.object({ image: z.string(), digest: z.string() })),
  /** By snapshot: the snapshot from before the update. */
  snapshotId: z.string().nullable(),
  /** By snapshot: data written since then is lost; null where none is. */
  losesSince: Timestamp.nullable(),
  losesMs: z.number(),
  findings: z.array(Finding),
})

/** The snapshot from before an update, as the registry stores it. */
type StoredSnapshot = Readonly<{ snapshotId: string; sha256: string | null; takenAt: string; status: string }>

export type PlannedRollback = z.infer<typeof PlannedRollback>
