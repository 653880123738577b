import { duration } from '../../core/kit/index.ts'
import { now as present, useNow, useSeconds } from './clock.ts'

const units = [
  [60_000, 1000, 's'],
  [3_600_000, 60_000, 'min'],
  [86_400_000, 3_600_000, 'h'],
  [Number.POSITIVE_INFINITY, 86_400_000, 'd'],
] as const

/** `3 min ago`, `in 2 h`, `just now`, as the CLI says it. */
export function ago(iso: string | null | undefined, now: Date): string {
  if (!iso) return 'never'
  const ms = now.getTime() - Date.parse(iso)
  if (Number.isNaN(ms)) return 'unknown'
  if (Math.abs(ms) < 5000) return 'just now'
  const [, unitMs, unit] = units.find(([below]) => Math.abs(ms) < below) ?? units[3]
  const span = `${Math.round(Math.abs(ms) / unitMs)} ${unit}`
  return ms > 0 ? `${span} ago` : `in ${span}`
}

const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })
const clockTime = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

/** `12:03:11` in the viewer's zone. */
export const timeOfDay = (at: Date | number | string): string => clockTime.format(new Date(at))

/** `2026-01-05 12:03:11` in the viewer's zone. */
export const dayAndTime = (iso: string): string => {
  const at = new Date(iso)
  const day = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
  return `${day} ${timeOfDay(at)}`
}

/** The exact time in the viewer's zone, and in UTC. */
export const exactTime = (iso: string): string => `${local.format(new Date(iso))} (${iso.slice(0, 19).replace('T', ' ')} UTC)`

/** How long ago; the exact time on hover. */
export function Ago({ at, none = 'never' }: Readonly<{ at: string | null | undefined; none?: string }>) {
  const tick = useNow()
  if (!at) return <span className={/^–?$/.test(none) ? 'dim nothing' : 'dim'}>{none}</span>
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(at, at > tick.toISOString() ? present() : tick)}
    </time>
  )
}

/** A time of day in the viewer's zone; the exact time on hover. */
export const At = ({ at }: Readonly<{ at: string }>) => (
  <time dateTime={at} title={exactTime(at)}>
    {timeOfDay(at)}
  </time>
)

export const Duration = ({ ms }: Readonly<{ ms: number | null | undefined }>) =>
  ms === null || ms === undefined ? <span className="dim nothing">–</span> : <span className="num">{duration(ms)}</span>

/** The time since a moment, each second. */
export function Elapsed({ since, until }: Readonly<{ since: string; until?: string | null }>) {
  const now = useSeconds()
  return <span className="num">{duration(Math.max(0, (until ? Date.parse(until) : now.getTime()) - Date.parse(since)))}</span>
}
