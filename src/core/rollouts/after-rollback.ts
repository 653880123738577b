import { type Manifest, type Tier, type TierVersions, versionMoves } from '../boxes/index.ts'
import { plural } from '../kit/index.ts'
import type { RollbackMode, RolloutAction } from './action.ts'
import type { RollbackCounts, StillAsked } from './rollout.ts'

// A rollback changes boxes and no manifest: until an operator applies an earlier one, the next rollout updates the boxes again.

type Component = keyof TierVersions
/** Boxes of one tier and version change that were rolled back. */
export type ReturnedBoxes = Readonly<{ tier: Tier; mode: RollbackMode; from: Pick<TierVersions, Component>; to: TierVersions }>
type Revision = Readonly<{ revision: number; manifest: Manifest }>

/** A rollback by images leaves the data, and with it the object store and the migrations head. */
const returned = ({ mode, from, to }: Pick<ReturnedBoxes, 'mode' | 'from' | 'to'>): Component[] =>
  (mode === 'images' ? (['synapse', 'postgres'] as const) : (['synapse', 'postgres', 'minio', 'migrationsHead'] as const)).filter(
    (component) => from[component] !== to[component],
  )

type Input = Readonly<{ boxes: readonly ReturnedBoxes[]; current: Revision; earlier: readonly Revision[] }>

/** Null where the current manifest asks for none of the versions. `earlier` is newest first. */
export function stillAsked({ boxes, current, earlier }: Input): StillAsked | null {
  const asked = boxes.flatMap((box) =>
    returned(box).flatMap((name) => (current.manifest.tiers[box.tier][name] === box.to[name] ? [{ box, name }] : [])),
  )
  if (asked.length === 0) return null
  const versions = new Set(asked.map(({ box, name }) => `${name === 'migrationsHead' ? 'migrations' : name} ${box.to[name]}`))
  const without = earlier.filter(({ manifest }) => asked.every(({ box, name }) => manifest.tiers[box.tier][name] !== box.to[name]))
  const same = without.find(({ manifest }) => asked.every(({ box, name }) => manifest.tiers[box.tier][name] === box.from[name]))
  return { revision: current.revision, versions: [...versions].sort(), formerRevision: (same ?? without[0])?.revision ?? null }
}

export const stillAskedText = ({ revision, versions }: StillAsked): string =>
  `Manifest revision ${revision} still asks for ${versions.join(', ')}: the next rollout updates the boxes again.`

/** Applies the earlier manifest, or lists the revisions where none is without these versions. */
export const manifestCommand = ({ formerRevision }: StillAsked): string =>
  formerRevision === null ? 'tenantry manifest history' : `tenantry manifest rollback ${formerRevision}`

type Moved = Pick<RolloutAction, 'from' | 'to' | 'rollback'>

/** The last change of the versions of a box: `synapse 1.157.1 → 1.163.2`, and back once its rollback has ended. */
export function lastMoveText({ from, to, rollback }: Moved): string {
  if (rollback?.status !== 'done') return versionMoves(from, to)
  const back = Object.fromEntries(returned({ mode: rollback.mode, from, to }).map((name) => [name, from[name]]))
  return versionMoves(to, { ...to, ...back })
}

/** Boxes that a rollout did not update because an operator skipped them; `slugs` may name some of them only. */
export type SkippedBoxes = Readonly<{ count: number; slugs: readonly string[] }>

/** None of a rollout that was rolled back with its boxes: they are as old as the skipped ones. */
export const skippedBoxes = (actions: readonly Pick<RolloutAction, 'tenantSlug' | 'waived' | 'rollback'>[]): string[] =>
  actions.some(({ rollback }) => rollback !== null) ? [] : actions.filter(({ waived }) => waived).map(({ tenantSlug }) => tenantSlug)

/** More would make a command too long to copy. */
const maxNamed = 20

/** Updates the skipped boxes with a rollout of their own; of many boxes the plan of the whole fleet. */
export const updateSkippedCommand = ({ count, slugs }: SkippedBoxes): string =>
  count > maxNamed || slugs.length < count ? 'tenantry rollouts plan' : `tenantry rollouts create --target ${slugs.join(',')} --start`

/** `rolled back (23 of 24)`; undefined without a rollback of boxes. */
export function rollbackState(counts: Readonly<{ rollback: RollbackCounts | null }>): string | undefined {
  const { rollback } = counts
  if (rollback === null) return undefined
  if (rollback.pending + rollback.running > 0) return `rolling back (${rollback.done} of ${rollback.total})`
  if (rollback.done === rollback.total) return 'rolled back'
  return rollback.done === 0
    ? `rollback failed (${plural(rollback.total, 'box', 'boxes')})`
    : `rolled back (${rollback.done} of ${rollback.total})`
}
