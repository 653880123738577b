import { z } from 'zod'
import { Component, Digest, InstalledVersions, Tier, TierVersions, VersionedService } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { Finding } from './finding.ts'
import { FenceMode, Phase, RolloutId, RolloutKind, TierTargets } from './rollout.ts'

/** What would happen to one box. `skip` = it runs its target already. */
export const PlannedBox = z.object({
  tenantSlug: z.string(),
  boxId: z.string(),
  hostId: z.string(),
  /** As operators know the host. */
  hostName: z.string().optional(),
  tier: Tier,
  phase: Phase,
  does: z.enum(['update', 'skip', 'refuse']),
  from: InstalledVersions,
  to: TierVersions,
  changes: z.array(Component),
  /** Image per changing service; which of them is known, and how, stands once in the plan's own list. */
  images: z.partialRecord(VersionedService, z.object({ image: z.string(), digest: Digest.nullable() })),
  findings: z.array(Finding),
  expectedMs: z.number(),
  /** How long its chat answers 503: as expected, and when the probes take all the time they may. */
  expectedFenceMs: z.number(),
  worstFenceMs: z.number(),
  /** The next maintenance window of its tenant, outside which its turn does not come; null where any time is right. */
  window: z.object({ opensAt: Timestamp, closesAt: Timestamp }).nullable().optional(),
})
export type PlannedBox = z.infer<typeof PlannedBox>

export const PlannedPhase = z.object({ phase: Phase, slugs: z.array(z.string()), expectedMs: z.number() })
export type PlannedPhase = z.infer<typeof PlannedPhase>

/**
 * An image that boxes would get. `fleet`: a box runs it already. `registry`: its registry said so when the plan was made, and it is pulled by
 * that digest. `first-pull`: nobody could say, and the first box that pulls it decides for all.
 */
export const PlannedImage = z.object({
  image: z.string(),
  digest: Digest.nullable(),
  from: z.enum(['fleet', 'registry', 'first-pull']),
  /** The host from which its registry was asked. */
  askedFrom: z.string().optional(),
  /** Why its registry could not be asked; absent where nobody was to ask. */
  why: z.string().optional(),
})
export type PlannedImage = z.infer<typeof PlannedImage>

/** Who goes when, from what to what, and what speaks against it. */
export const RolloutPlan = z.object({
  kind: RolloutKind,
  madeAt: Timestamp,
  manifestRevision: z.number().int(),
  targets: TierTargets,
  targetSlugs: z.array(z.string()).nullable(),
  parallel: z.number().int(),
  phases: z.array(PlannedPhase),
  boxes: z.array(PlannedBox),
  /** Each image that a box would get, once; absent in plans of earlier versions. */
  images: z.array(PlannedImage).optional(),
  updates: z.number().int(),
  refusals: z.number().int(),
  warnings: z.number().int(),
  /** From start to end if nothing fails. */
  expectedMs: z.number(),
  /** Another mode than the usual one, where evidence speaks for it; nothing takes it by itself. */
  proposedFenceMode: FenceMode.optional(),
  /** Only of an emergency: the staged rollouts under way, which its start pauses. */
  pauses: z.array(RolloutId).optional(),
  /** Only of an emergency: rolled back rollouts of which boxes still wait to be brought back; its start leaves those as they are. */
  stopsUndosOf: z.array(RolloutId).optional(),
})
export type RolloutPlan = z.infer<typeof RolloutPlan>
