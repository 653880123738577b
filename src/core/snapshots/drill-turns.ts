/** A box that could be drilled: when its data was last proven to come back, and when that was last tried. */
export type DrillCandidate = Readonly<{ boxId: string; lastProvenAt: string | null; lastTriedAt: string | null }>

const dayMs = 24 * 60 * 60_000

export type DrillRule = Readonly<{
  /** A box proven more recently than this is not drilled. */
  dueAfterDays: number
  /** A box that failed its drill waits this long: it may not keep the others from theirs. */
  retryAfterDays: number
  /** Runs of the job within `dueAfterDays`. */
  runs: number
}>

/** Four weeks, less one in which those that failed have their second turn. Six runs a day. */
const drillRule: DrillRule = { dueAfterDays: 21, retryAfterDays: 3, runs: 21 * 6 }

/** Whose turn it is: those longest without proof first, as many as bring the whole fleet through in time. */
export function drillTurns(candidates: readonly DrillCandidate[], now: string, rule: DrillRule = drillRule): string[] {
  const before = (days: number) => new Date(Date.parse(now) - days * dayMs).toISOString()
  const [dueBefore, triedBefore] = [before(rule.dueAfterDays), before(rule.retryAfterDays)]
  return candidates
    .filter(({ lastProvenAt, lastTriedAt }) => (lastProvenAt ?? '') <= dueBefore && (lastTriedAt ?? '') <= triedBefore)
    .sort((a, b) => compare(a.lastProvenAt ?? '', b.lastProvenAt ?? '') || compare(a.boxId, b.boxId))
    .slice(0, Math.ceil(candidates.length / rule.runs))
    .map(({ boxId }) => boxId)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
