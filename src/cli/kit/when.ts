import { duration, problem } from '../../core/kit/index.ts'

const dayMs = 24 * 60 * 60_000

/** `3 min ago`, `in 2 h`, `just now`: the distance of a time from now in its largest unit. */
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

/** `2026-01-05 02:00:00 UTC (3 min ago)` */
export const stamp = (iso: string | null | undefined, now: Date): string | undefined =>
  iso ? `${iso.slice(0, 19).replace('T', ' ')} UTC (${ago(iso, now)})` : undefined

/** The time between two moments, or until now without the second. */
export const lasted = (fromIso: string | null | undefined, toIso: string | null | undefined, now: Date): string | undefined =>
  fromIso ? duration(Math.max(0, (toIso ? Date.parse(toIso) : now.getTime()) - Date.parse(fromIso))) : undefined

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs } as const

/** A day, or a time with its zone. */
const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

/** Parses `--since` or another option: a time, a day (UTC), or an age such as `2h`. `isPast`: refuses the future. Throws USAGE. */
export function momentOf(input: string, now: Date, { option = '--since', isPast = false } = {}): string {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(input) ?? []
  const at = unit ? now.getTime() - Number(amount) * unitMs[unit as keyof typeof unitMs] : isoTime.test(input) ? timeOf(input) : Number.NaN
  if (Number.isNaN(at))
    throw problem('USAGE', `${option} ${input} is not a time. fix: pass 2026-01-05, 2026-01-05T02:00:00Z, or an age such as 10m, 2h or 1d`)
  if (isPast && at > now.getTime())
    throw problem('USAGE', `${option} ${input} is in the future. fix: pass an earlier time, or an age such as 2h`)
  return new Date(at).toISOString()
}

/** NaN also for a day that the calendar does not have, which `Date` would move into the next month. */
function timeOf(input: string): number {
  const day = new Date(`${input.slice(0, 10)}T00:00:00Z`)
  return Number.isNaN(day.getTime()) || !day.toISOString().startsWith(input.slice(0, 10)) ? Number.NaN : Date.parse(input)
}
