import { type InstalledVersions, isUnknown, type ProbeRule, Tier, type TierVersions } from '../boxes/index.ts'
import { duration } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'

import type { PlannedBox } from './plan.ts'
import type { FenceMode, RolloutKind } from './rollout.ts'

/** A past update; `fencedMs` is null where its fence was lifted early. Histories are newest first. */
export type PastUpdate = Readonly<{ slug: string; tier: Tier; durationMs: number; fencedMs: number | null }>

/** Duration, downtime and maximum downtime of an update. */
export type Expectation = Readonly<{ expectedMs: number; expectedFenceMs: number; worstFenceMs: number }>

type Sized = Readonly<{ slug: string; tier: Tier; databaseBytes: number | null }>

/** Speed of a dump or a load on a slow disk. */
const bytesPerMs = 25_000
/** Duration of the dump or the load of a database. */
export const dumpMsOf = (databaseBytes: number | null): number => Math.round((databaseBytes ?? 0) / bytesPerMs)

/** The settings that estimates use. `assumedUpdateMs`: pull and snapshot, or recreate, without any history; the same again for a rollback. */
export type Assumptions = Readonly<{ probe: ProbeRule; assumedUpdateMs: number }>

/** By the last update of the box itself; else by the median of its tier plus the size of its database. */
export function expectations(history: readonly PastUpdate[], { probe, assumedUpdateMs: workMs }: Assumptions): (box: Sized) => Expectation {
  const bySlug = new Map(history.toReversed().map((past) => [past.slug, past])) // the newest one wins
  const provenMs = (probe.consecutive - 1) * probe.spacingMs
  const medians = new Map(Tier.options.map((tier) => [tier, mediansOf(history.filter((past) => past.tier === tier))]))
  return ({ slug, tier, databaseBytes }) => {
    const dumpMs = dumpMsOf(databaseBytes)
    const own = bySlug.get(slug)
    const { durationMs = 2 * workMs + provenMs, fencedMs = workMs + provenMs } = medians.get(tier) ?? {}
    return {
      expectedMs: own?.durationMs ?? durationMs + dumpMs,
      expectedFenceMs: own?.fencedMs ?? fencedMs + dumpMs,
      worstFenceMs: 2 * (workMs + probe.timeoutMs) + 3 * dumpMs,
    }
  }
}

const mediansOf = (past: readonly PastUpdate[]) => ({
  durationMs: median(past.map(({ durationMs }) => durationMs)),
  fencedMs: median(past.flatMap(({ fencedMs }) => (fencedMs === null ? [] : [fencedMs]))),
})

const median = (values: readonly number[]): number | undefined => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)]

type FenceLimit = Readonly<{ fenceMaxMs: number; allowLongFence: boolean }>

/** A long downtime must be allowed by the operator. */
export function fenceFindings(slug: string, { expectedFenceMs }: Expectation, { fenceMaxMs, allowLongFence }: FenceLimit): Finding[] {
  if (expectedFenceMs <= fenceMaxMs) return []
  const long = `the expected downtime of ${slug} is ${duration(expectedFenceMs)}, but fence.maxMinutes allows ${duration(fenceMaxMs)}`
  return allowLongFence
    ? [warning('LONG_FENCE', `${long}; allowed by --allow-long-fence`)]
    : [refusal('LONG_FENCE', `${long}. fix: choose a quiet hour and pass \`--allow-long-fence\`, or raise the setting`)]
}

/** How a rollback by images ended, and the update that it reverted; `failed` also where it was refused. */
export type PastRollback = Readonly<{ from: InstalledVersions; to: TierVersions; status: 'undone' | 'failed' }>

type Pair = Readonly<{ from: InstalledVersions; to: TierVersions }>
type Input = Readonly<{ kind: RolloutKind; rollbacks: readonly PastRollback[] }>
type MovingBox = Pick<PlannedBox, 'does' | 'from' | 'to' | 'changes'>

/**
 * Proposes to lift the fence early where rollbacks by images are proven for every box that is updated (SAFETY). It is only proposed: once
 * users can write, nothing is restored automatically. Undefined where the default mode is best.
 */
export function proposeFenceMode(boxes: readonly MovingBox[], { kind, rollbacks }: Input): FenceMode | undefined {
  const proven = provenPairs(rollbacks)
  const moving = boxes.filter(({ does }) => does === 'update')
  const isProven = (box: MovingBox) => isFullyRevertible(box) && proven.has(pairOf(box))
  return kind === 'staged' && moving.length > 0 && moving.every(isProven) ? 'until-first-ok' : undefined
}

/** One failed rollback outweighs all successful ones. */
function provenPairs(rollbacks: readonly PastRollback[]): ReadonlySet<string> {
  const failed = new Set(rollbacks.filter(({ status }) => status === 'failed').map(pairOf))
  return new Set(rollbacks.map(pairOf).filter((pair) => !failed.has(pair)))
}

/** MinIO is never rolled back, and unknown versions prove nothing. */
const isFullyRevertible = ({ from, changes }: MovingBox): boolean => !changes.includes('minio') && !Object.values(from).some(isUnknown)

const pairOf = ({ from, to }: Pair): string =>
  (['migrationsHead', 'postgres', 'synapse', 'minio'] as const).map((component) => `${from[component]} ${to[component]}`).join(', ')
