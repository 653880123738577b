/** A period in which a tenant uses more than 80 % of its budget. Times in milliseconds since 1970. */
export type Episode = Readonly<{ sinceMs: number; lastAboveMs: number; alerted: boolean }>

/** Next state after one observation. `raise`: the episode is long enough for an alert; `close`: an alerted episode ended. */
export type EpisodeStep = Readonly<{ episode: Episode | undefined; raise: boolean; close: boolean }>

/** Time above 80 % without a break until an alert is due (spec 8). */
const alertAfterMs = 10 * 60_000
/** A longer gap between observations starts a new episode. An alerted episode ends after this time below 80 %. */
const breakMs = 60_000

export function stepEpisode(before: Episode | undefined, above: boolean, nowMs: number): EpisodeStep {
  if (!before) return { episode: above ? { sinceMs: nowMs, lastAboveMs: nowMs, alerted: false } : undefined, raise: false, close: false }
  if (before.alerted) return stepAlerted(before, above, nowMs)
  if (!above) return { episode: undefined, raise: false, close: false }
  const sinceMs = nowMs - before.lastAboveMs > breakMs ? nowMs : before.sinceMs
  const raise = nowMs - sinceMs >= alertAfterMs
  return { episode: { sinceMs, lastAboveMs: nowMs, alerted: raise }, raise, close: false }
}

function stepAlerted(before: Episode, above: boolean, nowMs: number): EpisodeStep {
  if (above) return { episode: { ...before, lastAboveMs: nowMs }, raise: false, close: false }
  const close = nowMs - before.lastAboveMs >= breakMs
  return { episode: close ? undefined : before, raise: false, close }
}
