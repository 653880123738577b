import { z } from 'zod'
import {
  type Component,
  chooseSnapshot,
  FenceMode,
  SnapshotMode,
  synapseSchemaOf,
  type Tier,
  type TierSnapshots,
  type TierVersions,
} from '../boxes/index.ts'
import type { KnownBox, Limits } from './known-box.ts'
import { isUpgrade } from './preflight-upgrade.ts'

/** `auto`: chosen per box by the rule of `chooseFence`. */
export const RequestedFence = z.enum(['auto', ...FenceMode.options])
export type RequestedFence = z.infer<typeof RequestedFence>

/** `auto`: the setting of the tier. */
export const RequestedSnapshot = z.enum(['auto', ...SnapshotMode.options])
export type RequestedSnapshot = z.infer<typeof RequestedSnapshot>

/** The settings of each tier. */
export type TierFences = Readonly<Record<Tier, RequestedFence>>

/** The fence mode of one box, and why it is `until-stable`. The other fields go to the agent. */
export type FenceChoice = Readonly<{
  mode: FenceMode
  reason?: string
  formerSchema?: number
  harmlessUpdates?: string[]
  isForced?: true
  /** Another major version of PostgreSQL. */
  way?: 'dump-load'
}> &
  SnapshotOrder

type SnapshotOrder = Readonly<{
  /** Absent: `before`. */
  snapshot?: 'hot'
  /** Why it is not `hot`, where that was requested. */
  snapshotReason?: string
}>

type Change = Readonly<{ to: TierVersions; changes: readonly Component[]; requested: RequestedFence; snapshot?: SnapshotMode }>

/** The request of the rollout counts, else the setting of the tier. */
export const requestedFence = (ofRollout: RequestedFence, tiers: TierFences, tier: Tier): RequestedFence =>
  ofRollout === 'auto' ? tiers[tier] : ofRollout
export const requestedSnapshot = (ofRollout: RequestedSnapshot, tiers: TierSnapshots, tier: Tier): SnapshotMode =>
  ofRollout === 'auto' ? tiers[tier] : ofRollout

/**
 * `until-proven` where the former images could serve whatever the new version has written; else the box stays fenced until it is stable. Only
 * the schema is known beforehand: the agent checks the background updates, and opens the box only if it finds none but those that the former
 * version was running itself and those of the table of harmless ones.
 */
export function chooseFence(box: KnownBox, change: Change, limits: Pick<Limits, 'schemas'>): FenceChoice {
  if (change.changes.includes('postgres') && isUpgrade(box.installed, change.to)) return upgradeFence(box, change)
  return { ...chooseMode(box, change, limits), ...snapshotOrder(box, change.snapshot) }
}

/** The same for every request: a rollback takes the former volume, as long as no user wrote to the new one, and only a copy can be loaded. */
const upgradeFence = (box: KnownBox, { to }: Change): FenceChoice => ({
  mode: 'until-stable',
  reason: `PostgreSQL ${box.installed.postgres} cannot read a database of ${to.postgres}`,
  way: 'dump-load',
  ...snapshotOrder(box, 'hot'),
})

/** How the snapshot of a box is stored, as the agent is ordered to. */
export function snapshotOrder({ report, databaseBytes }: KnownBox, requested: SnapshotMode = 'before'): SnapshotOrder {
  const { hotCopy, freeDiskBytes = null } = report?.facts ?? {}
  const { mode, reason } = chooseSnapshot(requested, { facts: hotCopy, databaseBytes, freeDiskBytes })
  if (mode === 'hot') return { snapshot: mode }
  return reason === undefined ? {} : { snapshotReason: reason }
}

function chooseMode(box: KnownBox, { to, changes, requested }: Change, limits: Pick<Limits, 'schemas'>): FenceChoice {
  const back = schemaAfter({ box, to, changes }, limits)
  const { harmlessUpdates = [] } = limits.schemas
  const proof = 'schema' in back ? { formerSchema: back.schema, harmlessUpdates } : {}
  if (requested !== 'auto') return { mode: requested, ...proof, ...(requested === 'until-proven' ? { isForced: true } : {}) }
  return 'schema' in back ? { mode: 'until-proven', ...proof } : { mode: 'until-stable', reason: back.reason }
}

/** The newest schema that the former chat server reads, if it would read what the new one writes. */
function schemaAfter(
  { box: { installed, report }, to, changes }: Readonly<{ box: KnownBox; to: TierVersions; changes: readonly Component[] }>,
  { schemas }: Pick<Limits, 'schemas'>,
): { schema: number } | { reason: string } {
  if (changes.includes('minio')) return { reason: 'MinIO does not support a downgrade' }
  const former = synapseSchemaOf(schemas, installed.synapse)
  const present = former?.schema ?? report?.facts?.compatVersion ?? null
  if (!changes.includes('synapse'))
    return present === null ? { reason: `the schema of Synapse ${installed.synapse} is unknown` } : { schema: present }
  const next = synapseSchemaOf(schemas, to.synapse)
  if (!former || !next) return { reason: `the schema of Synapse ${former ? to.synapse : installed.synapse} is unknown` }
  if (next.compat <= former.schema) return { schema: former.schema }
  return { reason: `Synapse ${installed.synapse} cannot read a database of ${to.synapse}` }
}
