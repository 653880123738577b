import { z } from 'zod'
import { InstalledVersions, ReintroducedVulnerability, Slug, SnapshotTier } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging, Timestamp } from '../contract/index.ts'

const base = '/api/admin/v1/snapshots'
const ofBox = '/api/admin/v1/boxes/:slug'
const bySlug = z.object({ slug: Slug })

/**
 * `forgotten` = given up by retention; `missing` = the repository does not list it any more though nobody gave it up;
 * `damaged` = a check or a drill could not read it back. Only the first two cannot be restored.
 */
export const SnapshotStatus = z.enum(['present', 'forgotten', 'missing', 'damaged'])
export type SnapshotStatus = z.infer<typeof SnapshotStatus>

/** What a drill proved, or why it did not. `restoreMs` is what a real restore would take. */
const LastDrill = z.object({
  at: Timestamp,
  ok: z.boolean(),
  durationMs: z.number().nullable(),
  restoreMs: z.number().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
})

/** A snapshot as the registry knows it. Null = not known: taken before the registry, or by a database that was lost. */
export const Snapshot = z.object({
  snapshotId: z.string(),
  slug: z.string(),
  boxId: z.string(),
  tier: SnapshotTier,
  takenAt: Timestamp,
  /** The command that took it. */
  commandId: z.string().nullable(),
  /** Sum of the manifest in the snapshot. */
  snapshotSha256: z.string().nullable(),
  addedBytes: z.number().nullable(),
  files: z.number().int().nullable(),
  durationMs: z.number().nullable(),
  installed: InstalledVersions.nullable(),
  status: SnapshotStatus,
  /** Why it is not given up; null = the next tidying gives it up, or it is gone. */
  keptBecause: z.string().nullable(),
  lastDrill: LastDrill.nullable(),
  /** When it last came back, in a drill, a restore or a move, and how long that took. */
  lastProof: z.object({ at: Timestamp, durationMs: z.number().nullable() }).nullable(),
})
export type Snapshot = z.infer<typeof Snapshot>

/** The beginning of an id is enough where it is the only one. */
const IdPrefix = z.string().regex(/^[0-9a-f]{1,64}$/, 'must be the id of a snapshot, or its beginning')

/** An id in full: what is brought back must be meant. */
const SnapshotId = z.string().regex(/^[0-9a-f]{8,64}$/, 'must be the full id of a snapshot: the list tells it')

const Accepted = z.object({ commandId: z.string(), snapshotId: z.string() })

/** Snapshots of boxes: listed, taken, brought back, proven (spec 4.10; SAFETY, Snapshots and Restore). */
export const snapshotsContract = {
  listSnapshots: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    query: Paging.extend({
      slug: Slug.optional(),
      tier: SnapshotTier.optional(),
      status: SnapshotStatus.optional(),
      id: IdPrefix.optional().meta({ description: 'Beginning of the id' }),
    }),
    returns: z.object({ snapshots: z.array(Snapshot), nextCursor: z.string().nullable() }),
    summary: 'Snapshots, newest first',
  }),
  takeSnapshot: endpoint({
    method: 'POST',
    path: `${ofBox}/snapshots`,
    auth: admin('operator'),
    params: bySlug,
    returns: z.object({ commandId: z.string() }),
    status: 202,
    problems: ['NOT_FOUND', 'CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'BOX_HELD', 'BOX_NOT_MANAGED'],
    summary: 'Take a snapshot of a box now; the box stays open',
  }),
  restoreBox: endpoint({
    method: 'POST',
    path: `${ofBox}/restore`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      snapshotId: SnapshotId,
      reason: z.string().trim().min(3).max(500),
      allowHole: z
        .boolean()
        .default(false)
        .meta({ description: 'Also where the snapshot holds versions that an emergency has replaced since, and their hole is open again' }),
    }),
    returns: Accepted.extend({ reopens: z.array(ReintroducedVulnerability).meta({ description: 'The holes that were allowed' }) }),
    status: 202,
    problems: ['NOT_FOUND', 'CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'BOX_HELD', 'BOX_NOT_MANAGED', 'REOPENS_HOLE'],
    summary: 'Bring a box back to a snapshot; what came after it is lost, and kept as a snapshot of its own',
  }),
  drillBox: endpoint({
    method: 'POST',
    path: `${ofBox}/drill`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({ snapshotId: SnapshotId.optional() }),
    returns: Accepted,
    status: 202,
    problems: ['NOT_FOUND', 'CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'BOX_HELD', 'BOX_NOT_MANAGED'],
    summary: 'Prove a snapshot by bringing it up beside the box, out of everybody’s reach; the default is the newest',
  }),
} as const satisfies Contract
