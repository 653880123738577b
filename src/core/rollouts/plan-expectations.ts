import { type Downtime, type FenceMode, type ProbeRule, quickRule, type SnapshotMode, Tier } from '../boxes/index.ts'
import { duration } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'

/**
 * A past update. `downtime` has the parts of its downtime; null where they are unknown: then `fencedMs` is used, which is
 * null for a fence that was lifted early. Histories are newest first.
 */
export type PastUpdate = Readonly<{
  slug: string
  hostId: string
  tier: Tier
  durationMs: number
  fencedMs: number | null
  downtime: Downtime | null
}>

/** Duration, downtime and maximum downtime of an update. */
export type Expectation = Readonly<{ expectedMs: number; expectedFenceMs: number; worstFenceMs: number }>

/** `snapshot` absent: `before`. */
type Fence = Readonly<{ mode: FenceMode; snapshot?: SnapshotMode | undefined }>
type Sized = Readonly<{ slug: string; hostId: string; tier: Tier; databaseBytes: number | null }>

/** Speed of a dump or a load on a slow disk. */
const bytesPerMs = 25_000
/** Duration of the dump or the load of a database. */
export const dumpMsOf = (databaseBytes: number | null): number => Math.round((databaseBytes ?? 0) / bytesPerMs)

/** The settings that estimates use. `assumedUpdateMs`: pull and snapshot, or recreate, without any history; the same again for a rollback. */
export type Assumptions = Readonly<{ probe: ProbeRule; assumedUpdateMs: number }>

/**
 * The downtime of a box by the parts of its own last update, else by the median parts of its host, else by the downtimes of its tier; the dump
 * by the size of its database.
 */
export function expectations(
  history: readonly PastUpdate[],
  { probe, assumedUpdateMs: workMs }: Assumptions,
): (box: Sized, fence: Fence) => Expectation {
  const bySlug = new Map(history.toReversed().map((past) => [past.slug, past])) // the newest one wins
  const slowMs = proofMs(probe, 'until-stable')
  const medians = new Map(Tier.options.map((tier) => [tier, mediansOf(history.filter((past) => past.tier === tier))]))
  const ofHost = remembered((hostId: string) => medianParts(history.filter((past) => past.hostId === hostId)))
  return ({ slug, hostId, tier, databaseBytes }, { mode, snapshot }) => {
    const dumpMs = dumpMsOf(databaseBytes)
    const own = bySlug.get(slug)
    const { durationMs = 2 * workMs + slowMs, fencedMs = workMs + slowMs } = medians.get(tier) ?? {}
    const parts = (own && partsOf(own)) ?? ofHost(hostId)
    // A closed box is opened once it is stable and its snapshot is stored.
    const storingMs = mode === 'until-stable' && snapshot !== undefined && snapshot !== 'before' ? dumpMs : 0
    const wholeMs = (own?.fencedMs ?? fencedMs + dumpMs) - slowMs
    return {
      expectedMs: own?.durationMs ?? durationMs + dumpMs,
      expectedFenceMs: (parts ? workOf(parts, databaseBytes, snapshot) : Math.max(0, wholeMs)) + Math.max(proofMs(probe, mode), storingMs),
      worstFenceMs: 2 * (workMs + probe.timeoutMs) + 3 * dumpMs,
    }
  }
}

/** From the first good probe to the end of the fence. */
export function proofMs(probe: ProbeRule, mode: FenceMode): number {
  const { consecutive, spacingMs } = mode === 'until-stable' ? probe : quickRule(probe)
  return mode === 'none' ? 0 : (consecutive - 1) * spacingMs
}

/**
 * `copyingMs`: dump, store and cold copy of a database of `bytes`; `logMs`: the write-ahead log of a hot copy. The rest does not depend on the size.
 * `fellBack`: the last update stored its snapshot before the start, where a hot copy was requested.
 */
type Parts = Readonly<{
  restMs: number
  copyingMs: number
  logMs: number | undefined
  bytes: number
  fellBack?: boolean
}>

function partsOf({ downtime }: PastUpdate): Parts | undefined {
  if (!downtime?.databaseBytes || downtime.snapshotMs === undefined || downtime.startMs === undefined) return undefined
  const { stopMs = 0, snapshotMs, copyMs = 0, startMs, firstGoodMs = 0, databaseBytes } = downtime
  return {
    ...{ restMs: stopMs + startMs + firstGoodMs, copyingMs: snapshotMs + copyMs, bytes: databaseBytes },
    logMs: downtime.hotCopy ? downtime.copyingMs : undefined,
    fellBack: downtime.snapshotReason !== undefined,
  }
}

function medianParts(past: readonly PastUpdate[]): Parts | undefined {
  const parts = past.flatMap((one) => partsOf(one) ?? [])
  if (parts.length === 0) return undefined
  const perByte = median(parts.map(({ copyingMs, bytes }) => Math.max(0, copyingMs - fixedCopyingMs) / bytes)) as number
  return {
    restMs: median(parts.map(({ restMs }) => restMs)) as number,
    copyingMs: fixedCopyingMs + perByte * 1e9,
    logMs: median(parts.flatMap(({ logMs }) => logMs ?? [])),
    bytes: 1e9,
  }
}

/** A snapshot of an empty database. */
const fixedCopyingMs = 1_500

/** The write-ahead log since a hot copy, where none was measured: some segments of 16 MB, and two more calls of the database. */
const assumedLogMs = 2_000

function workOf(parts: Parts, databaseBytes: number | null, snapshot: SnapshotMode = 'before'): number {
  const { restMs, copyingMs, logMs = assumedLogMs, bytes, fellBack } = parts
  const fixedMs = Math.min(fixedCopyingMs, copyingMs)
  const wholeMs = Math.round(restMs + fixedMs + ((copyingMs - fixedMs) * (databaseBytes ?? bytes)) / bytes)
  return snapshot === 'hot' && !fellBack ? Math.min(Math.round(restMs + logMs), wholeMs) : wholeMs
}

function remembered<Value>(compute: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>()
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key))
    return known.get(key) as Value
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
