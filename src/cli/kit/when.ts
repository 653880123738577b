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

/** Parses `--since` or another option: a time, a day, or an age such as `2h`. Throws USAGE. */
export function momentOf(input: string, now: Date, option = '--since'): string {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(input) ?? []
  const at = unit ? new Date(now.getTime() - Number(amount) * unitMs[unit as keyof typeof unitMs]) : new Date(input)
  if (Number.isNaN(at.getTime())) throw problem('USAGE', `${option} ${input} is not a time; pass 2026-01-05T02:00:00Z, 10m, 2h or 1d`)
  return at.toISOString()
}
