import { duration } from '../../core/kit/index.ts'

const dayMs = 24 * 60 * 60_000

/** `3 min ago`, `in 2 h`, `just now`: how far a time is from now, in its largest unit. */
export function ago(iso: string | null | undefined, now: Date): string {
  if (!iso) return 'never'
  const ms = now.getTime() - Date.parse(iso)
  if (Number.isNaN(ms)) return 'unknown'
  if (Math.abs(ms) < 5000) return 'just now'
  return ms > 0 ? `${span(ms)} ago` : `in ${span(-ms)}`
}

const span = (ms: number) =>
  ms < 60_000
    ? `${Math.round(ms / 1000)} s`
    : ms < 60 * 60_000
      ? `${Math.round(ms / 60_000)} min`
      : ms < dayMs
        ? `${Math.round(ms / (60 * 60_000))} h`
        : `${Math.round(ms / dayMs)} d`

/** `2026-01-05 02:00:00 UTC (3 min ago)`: both, for views that show one thing. */
export const stamp = (iso: string | null | undefined, now: Date): string | undefined =>
  iso ? `${iso.slice(0, 19).replace('T', ' ')} UTC (${ago(iso, now)})` : undefined

/** How long from one time to another, or to now while it still runs. */
export const lasted = (fromIso: string | null | undefined, toIso: string | null | undefined, now: Date): string | undefined =>
  fromIso ? duration(Math.max(0, (toIso ? Date.parse(toIso) : now.getTime()) - Date.parse(fromIso))) : undefined
