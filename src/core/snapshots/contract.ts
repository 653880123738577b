import { z } from 'zod'
import { DrilledMedia, InstalledVersions, ReintroducedVulnerability, Slug, SnapshotTier } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging, TimeInput, Timestamp } from '../contract/index.ts'
import { HostName } from '../hosts/index.ts'

const base = '/api/admin/v1/snapshots'
const ofBox = '/api/admin/v1/boxes/:slug'
const bySlug = z.object({ slug: Slug })

/**
 * `forgotten` = expired by retention; `missing` = not in the repository although it did not expire; `damaged` = a check or a drill could not
 * read it. Only `forgotten` and `missing` cannot be restored.
 */
export const SnapshotStatus = z.enum(['present', 'forgotten', 'missing', 'damaged'])
export type SnapshotStatus = z.infer<typeof SnapshotStatus>

/** The result of a drill. `restoreMs` estimates a real restore. */
const LastDrill = z.object({
  at: Timestamp,
  ok: z.boolean(),
  durationMs: z.number().nullable(),
  restoreMs: z.number().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  media: DrilledMedia.nullable().meta({ description: 'Media files that were compared; null if the agent compared none' }),
})

/** A registered snapshot. Null = unknown: taken before the registry existed, or its record was lost. */
export const Snapshot = z.object({
  snapshotId: z.string(),
  slug: z.string(),
  boxId: z.string(),
  tier: SnapshotTier,
  takenAt: Timestamp,
  /** The command that took it. */
  commandId: z.string().nullable(),
  /** SHA-256 of the manifest in the snapshot. */
  snapshotSha256: z.string().nullable(),
  addedBytes: z.number().nullable(),
  files: z.number().int().nullable(),
  durationMs: z.number().nullable(),
  installed: InstalledVersions.nullable(),
  status: SnapshotStatus,
  /** Why retention keeps it; null = it expires at the next prune, or is gone. */
  keptBecause: z.string().nullable(),
  lastDrill: LastDrill.nullable(),
  /** The last successful drill, restore or move of it, and its duration. */
  lastProof: z.object({ at: Timestamp, durationMs: z.number().nullable() }).nullable(),
})
export type Snapshot = z.infer<typeof Snapshot>

/** How recently restores of the managed boxes were verified, by drills, restores or moves. */
export const ProofSummary = z.object({
  boxes: z.number().int(),
  unproven: z.number().int().meta({ description: 'Boxes without any verified restore' }),
  oldest: z
    .object({ slug: z.string(), at: Timestamp })
    .nullable()
    .meta({ description: 'The box whose last verified restore is the oldest' }),
})
export type ProofSummary = z.infer<typeof ProofSummary>

/** A unique prefix of an id. */
const IdPrefix = z.string().regex(/^[0-9a-f]{1,64}$/, 'must be the id of a snapshot, or a prefix of it')

/** A full id: a restore must not match a prefix by accident. */
const SnapshotId = z.string().regex(/^[0-9a-f]{8,64}$/, 'must be the full id of a snapshot. fix: tenantry snapshots list --json')

const Moment = z.union([z.literal('latest'), TimeInput]).meta({ description: 'A moment of the archive, or `latest`' })

const Accepted = z.object({ commandId: z.string(), snapshotId: z.string() })

/** Endpoints of snapshots (spec 4.10; SAFETY, Snapshots and Restore). */
export const snapshotsContract = {
  listSnapshots: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    query: Paging.extend({
      slug: Slug.optional(),
      tier: SnapshotTier.optional(),
      status: SnapshotStatus.optional(),
      id: IdPrefix.optional().meta({ description: 'Prefix of the id' }),
    }),
    returns: z.object({ snapshots: z.array(Snapshot), nextCursor: z.string().nullable() }),
    summary: 'List snapshots, newest first',
  }),
  summarizeProofs: endpoint({
    method: 'GET',
    path: `${base}/proofs`,
    auth: admin('viewer'),
    returns: ProofSummary,
    summary: 'Show the managed box with the oldest verified restore',
  }),
  takeSnapshot: endpoint({
    method: 'POST',
    audit: 'snapshot.take',
    path: `${ofBox}/snapshots`,
    auth: admin('operator'),
    params: bySlug,
    returns: z.object({ commandId: z.string() }),
    status: 202,
    problems: ['NOT_FOUND', 'CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'BOX_HELD', 'BOX_NOT_MANAGED'],
    summary: 'Take a snapshot of a box; the box stays online',
  }),
  restoreBox: endpoint({
    method: 'POST',
    audit: ['box.restore', 'box.restored'],
    path: `${ofBox}/restore`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      snapshotId: SnapshotId,
      reason: z.string().trim().min(3).max(500),
      allowHole: z
        .boolean()
        .default(false)
        .meta({ description: 'Restore even if the snapshot reintroduces a vulnerability that an emergency rollout fixed' }),
    }),
    returns: Accepted.extend({
      reopens: z.array(ReintroducedVulnerability).meta({ description: 'The vulnerabilities that were allowed' }),
    }),
    status: 202,
    problems: ['NOT_FOUND', 'CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'BOX_HELD', 'BOX_NOT_MANAGED', 'REINTRODUCES_CVE'],
    summary: 'Restore a box from a snapshot; the current data is kept as a pre-restore snapshot',
  }),
  planRecovery: endpoint({
    method: 'GET',
    path: `${ofBox}/recovery`,
    auth: admin('viewer'),
    params: bySlug,
    query: z.strictObject({ to: Moment }),
    returns: z.object({
      at: Timestamp.meta({ description: 'All that was committed until then is recovered' }),
      baseAt: Timestamp,
      parts: z.number().int(),
      bytes: z.number(),
    }),
    problems: ['NOT_FOUND', 'CONFLICT'],
    summary: 'Show what a recovery from the archive to a moment would use',
  }),
  recoverBox: endpoint({
    method: 'POST',
    audit: 'snapshot.recover',
    path: `${ofBox}/recovery`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      to: Moment,
      host: HostName.optional().meta({ description: 'Another host, where that of the box is lost' }),
    }),
    returns: z.object({ commandId: z.string(), at: Timestamp }),
    status: 202,
    problems: ['NOT_FOUND', 'CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'BOX_HELD', 'BOX_NOT_MANAGED'],
    summary: 'Make a snapshot of an earlier moment from the archive; the box is not touched',
  }),
  abandonSnapshots: endpoint({
    method: 'POST',
    audit: 'snapshots.abandoned',
    path: `${ofBox}/snapshots/abandon`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({ reason: z.string().trim().min(3).max(500) }),
    returns: z.object({ abandoned: z.number().int() }),
    problems: ['NOT_FOUND', 'CONFLICT'],
    summary: 'Abandon the missing snapshots of a box, so that the next one may create a new repository',
  }),
  drillBox: endpoint({
    method: 'POST',
    audit: 'box.drill',
    path: `${ofBox}/drill`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({ snapshotId: SnapshotId.optional() }),
    returns: Accepted,
    status: 202,
    problems: ['NOT_FOUND', 'CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'BOX_HELD', 'BOX_NOT_MANAGED'],
    summary: 'Test-restore a snapshot in isolation; the default is the newest',
  }),
} as const satisfies Contract
