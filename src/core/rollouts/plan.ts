import { z } from 'zod'
import { Component, Digest, FenceMode, InstalledVersions, SnapshotMode, Tier, TierVersions, VersionedService } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { Finding } from './finding.ts'
import { Gate } from './gate.ts'
import { Phase, RolloutId, RolloutKind, RolloutStatus, TierTargets } from './rollout.ts'

/** The planned change of one box. `skip`: already up to date. */
export const PlannedBox = z.object({
  tenantSlug: z.string(),
  boxId: z.string(),
  hostId: z.string(),
  /** The name of the host. */
  hostName: z.string().optional(),
  tier: Tier,
  phase: Phase,
  does: z.enum(['update', 'skip', 'refuse']),
  from: InstalledVersions,
  to: TierVersions,
  changes: z.array(Component),
  /** Image per changing service; the plan's `images` says how each digest was resolved. */
  images: z.partialRecord(VersionedService, z.object({ image: z.string(), digest: Digest.nullable() })),
  findings: z.array(Finding),
  expectedMs: z.number(),
  /** Expected downtime, and the maximum when the probes take all their time. */
  expectedFenceMs: z.number(),
  worstFenceMs: z.number(),
  fenceMode: FenceMode,
  /** When its snapshot is to be stored. */
  snapshotMode: SnapshotMode,
  /** Why it is not `hot`, where that was requested. */
  snapshotReason: z.string().optional(),
  /** Why the box stays fenced until it is stable; absent where it does not, or where the mode was requested. */
  fenceReason: z.string().optional(),
  /** Only of another major version of PostgreSQL; `downtimeMs` was measured by its rehearsal, and is in the expected downtime. */
  upgrade: z
    .object({
      way: z.enum(['dump-load']),
      databaseBytes: z.number().nullable(),
      /** Disk space that it needs beside the present database. */
      roomBytes: z.number().nullable(),
      rehearsedAt: Timestamp.nullable(),
      downtimeMs: z.number().nullable(),
    })
    .optional(),
  /** The next maintenance window in which it may begin; null: any time. */
  window: z.object({ opensAt: Timestamp, closesAt: Timestamp }).nullable().optional(),
})
export type PlannedBox = z.infer<typeof PlannedBox>

export const PlannedPhase = z.object({ phase: Phase, slugs: z.array(z.string()), expectedMs: z.number() })
export type PlannedPhase = z.infer<typeof PlannedPhase>

/**
 * An image that boxes would get. `fleet`: a box runs it already. `registry`: resolved by its registry, and pulled by that digest.
 * `first-pull`: unresolved; the first box that pulls it pins the digest for all. `missing`: its registry has no such tag; it blocks its boxes.
 * `disputed`: hosts got different digests; it blocks its boxes. `manifest`: pinned by the manifest.
 */
export const PlannedImage = z.object({
  image: z.string(),
  digest: Digest.nullable(),
  from: z.enum(['fleet', 'registry', 'first-pull', 'missing', 'disputed', 'manifest']),
  /** The host that asked the registry. */
  askedFrom: z.string().optional(),
  /** A second host that got the same digest; null: none of the other hosts did; absent with one host. */
  confirmedBy: z.string().nullable().optional(),
  /** Hosts that do not find it, although another one does; absent where there are none. */
  missingOn: z.array(z.string()).optional(),
  /** Why the registry did not resolve it; absent where none was asked. */
  why: z.string().optional(),
})
export type PlannedImage = z.infer<typeof PlannedImage>

/** An unfinished rollout with boxes of the plan. */
export const ActiveRollout = z.object({ rolloutId: RolloutId, status: RolloutStatus, slugs: z.array(z.string()) })
export type ActiveRollout = z.infer<typeof ActiveRollout>

/** The order of the boxes, their version changes and findings. */
export const RolloutPlan = z.object({
  kind: RolloutKind,
  madeAt: Timestamp,
  manifestRevision: z.number().int(),
  targets: TierTargets,
  targetSlugs: z.array(z.string()).nullable(),
  parallel: z.number().int(),
  /** Watching time after each phase that is followed by further updates; absent without one. */
  bakeMs: z.number().int().optional(),
  /** Queries of Prometheus before each next phase; absent without gates. */
  gates: z.array(Gate).optional(),
  phases: z.array(PlannedPhase),
  boxes: z.array(PlannedBox),
  /** Each image that a box would get, once. */
  images: z.array(PlannedImage),
  updates: z.number().int(),
  refusals: z.number().int(),
  warnings: z.number().int(),
  /** From start to end if nothing fails. */
  expectedMs: z.number(),
  /** Only of a staged rollout: the unfinished ones with boxes of this plan; they refuse its start without `queue`. */
  activeRollouts: z.array(ActiveRollout).optional(),
  /** Only of an emergency: the running staged rollouts that its start pauses. */
  pauses: z.array(RolloutId).optional(),
  /** Only of an emergency: rollouts with pending rollbacks, which its start cancels. */
  stopsRollbacksOf: z.array(RolloutId).optional(),
})
export type RolloutPlan = z.infer<typeof RolloutPlan>
