import { type InstalledVersions, isUnknown, type ProbeRule, Tier, type TierVersions } from '../boxes/index.ts'
import { duration } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'

import type { PlannedBox } from './plan.ts'
import type { FenceMode, RolloutKind } from './rollout.ts'

/** How long an update took before; `fencedMs` is null where its fence was lifted early, which says nothing about a whole one. Histories come newest first. */
export type PastUpdate = Readonly<{ slug: string; tier: Tier; durationMs: number; fencedMs: number | null }>

/** How long it takes, how long its chat answers 503, and how long that at worst. */
export type Expectation = Readonly<{ expectedMs: number; expectedFenceMs: number; worstFenceMs: number }>

type Sized = Readonly<{ slug: string; tier: Tier; databaseBytes: number | null }>

/** Before there is any history: pull, snapshot, recreate; then again for the way back. */
const workMs = 60_000
/** What a dump or a load brings forward in a second, on the disk of a modest host. */
const bytesPerMs = 25_000
/** What the size of a database adds to its dump, or to its load. */
export const dumpMsOf = (databaseBytes: number | null): number => Math.round((databaseBytes ?? 0) / bytesPerMs)

/** A box's own last update tells best; then what its tier usually takes and what its size adds. */
export function expectations(history: readonly PastUpdate[], probe: ProbeRule): (box: Sized) => Expectation {
  const bySlug = new Map(history.toReversed().map((past) => [past.slug, past])) // newest first: it is what remains
  const provenMs = (probe.consecutive - 1) * probe.spacingMs
  const usual = new Map(Tier.options.map((tier) => [tier, usualOf(history.filter((past) => past.tier === tier))]))
  return ({ slug, tier, databaseBytes }) => {
    const dumpMs = dumpMsOf(databaseBytes)
    const own = bySlug.get(slug)
    const { durationMs = 2 * workMs + provenMs, fencedMs = workMs + provenMs } = usual.get(tier) ?? {}
    return {
      expectedMs: own?.durationMs ?? durationMs + dumpMs,
      expectedFenceMs: own?.fencedMs ?? fencedMs + dumpMs,
      worstFenceMs: 2 * (workMs + probe.timeoutMs) + 3 * dumpMs,
    }
  }
}

const usualOf = (past: readonly PastUpdate[]) => ({
  durationMs: median(past.map(({ durationMs }) => durationMs)),
  fencedMs: median(past.flatMap(({ fencedMs }) => (fencedMs === null ? [] : [fencedMs]))),
})

const median = (values: readonly number[]): number | undefined => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)]

type FenceLimit = Readonly<{ fenceMaxMs: number; allowLongFence: boolean }>

/** A chat that is away for long is something that somebody must have wanted. */
export function fenceFindings(slug: string, { expectedFenceMs }: Expectation, { fenceMaxMs, allowLongFence }: FenceLimit): Finding[] {
  if (expectedFenceMs <= fenceMaxMs) return []
  const long = `the chat of ${slug} would be away for about ${duration(expectedFenceMs)}, and fence.maxMinutes allows ${duration(fenceMaxMs)}`
  return allowLongFence
    ? [warning('LONG_FENCE', `${long}; it was allowed`)]
    : [refusal('LONG_FENCE', `${long}: choose a quiet hour and give \`--allow-long-fence\`, or raise the setting`)]
}

/** How a way back by images ended, and the update that it undid; `failed` also where it was refused. */
export type PastRollback = Readonly<{ from: InstalledVersions; to: TierVersions; undo: 'undone' | 'failed' }>

type Pair = Readonly<{ from: InstalledVersions; to: TierVersions }>
type Wanted = Readonly<{ kind: RolloutKind; rollbacks: readonly PastRollback[] }>
type Moving = Pick<PlannedBox, 'does' | 'from' | 'to' | 'changes'>

/**
 * Opening chats early is proposed where every box that moves could run its former images again, because others have (SAFETY). Never more than
 * proposed: what turns sick when people are in stays until an operator decides. Undefined where the usual way is best.
 */
export function proposeFenceMode(boxes: readonly Moving[], { kind, rollbacks }: Wanted): FenceMode | undefined {
  const proven = provenPairs(rollbacks)
  const moving = boxes.filter(({ does }) => does === 'update')
  const isProven = (box: Moving) => goesWholeBack(box) && proven.has(pairOf(box))
  return kind === 'staged' && moving.length > 0 && moving.every(isProven) ? 'until-first-ok' : undefined
}

/** One that failed speaks louder than those that did not. */
function provenPairs(rollbacks: readonly PastRollback[]): ReadonlySet<string> {
  const failed = new Set(rollbacks.filter(({ undo }) => undo === 'failed').map(pairOf))
  return new Set(rollbacks.map(pairOf).filter((pair) => !failed.has(pair)))
}

/** The object store stays where it is on a way back, and versions that nobody knows are not the same ones. */
const goesWholeBack = ({ from, changes }: Moving): boolean => !changes.includes('minio') && !Object.values(from).some(isUnknown)

const pairOf = ({ from, to }: Pair): string =>
  (['migrationsHead', 'postgres', 'synapse', 'minio'] as const).map((component) => `${from[component]} ${to[component]}`).join(', ')
