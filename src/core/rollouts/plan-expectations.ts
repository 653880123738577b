import { type ProbeRule, Tier } from '../boxes/index.ts'
import { duration } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'

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
