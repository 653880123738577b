/** A tenant that is above 80 % of its budget, as it was seen from time to time. Milliseconds since 1970. */
export type Episode = Readonly<{ sinceMs: number; lastAboveMs: number; told: boolean }>

/** What is to be done about a tenant after a look at it: `tell` once an episode has lasted, `over` when one that was told has ended. */
export type EpisodeStep = Readonly<{ episode: Episode | undefined; tell: boolean; over: boolean }>

/** An alert is due when a tenant was above for this long without a break (spec 8). */
const lastsMs = 10 * 60_000
/** When nobody looked for longer, nobody knows whether it was above. An episode that was told ends when it was not above for this long. */
const breakMs = 60_000

/** The state of an episode after one look. */
export function stepEpisode(before: Episode | undefined, above: boolean, nowMs: number): EpisodeStep {
  if (!before) return { episode: above ? { sinceMs: nowMs, lastAboveMs: nowMs, told: false } : undefined, tell: false, over: false }
  if (before.told) return stepTold(before, above, nowMs)
  if (!above) return { episode: undefined, tell: false, over: false }
  const sinceMs = nowMs - before.lastAboveMs > breakMs ? nowMs : before.sinceMs
  const tell = nowMs - sinceMs >= lastsMs
  return { episode: { sinceMs, lastAboveMs: nowMs, told: tell }, tell, over: false }
}

function stepTold(before: Episode, above: boolean, nowMs: number): EpisodeStep {
  if (above) return { episode: { ...before, lastAboveMs: nowMs }, tell: false, over: false }
  const over = nowMs - before.lastAboveMs >= breakMs
  return { episode: over ? undefined : before, tell: false, over }
}
