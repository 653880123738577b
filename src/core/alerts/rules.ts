import { plural } from '../kit/index.ts'
import { days, isTimeOfDay, momentsOf, offsetMs, windowCalendar } from '../wall-clock/index.ts'
import type { AlertKind, AlertSeverity } from './alert.ts'

/** Which alerts a channel gets, and when. Times are of the clocks in `timeZone`. */
export type ChannelRules = Readonly<{
  minSeverity: AlertSeverity
  /** Undefined: all. */
  kinds?: readonly AlertKind[] | undefined
  /** `22:00-07:00`: messages wait for its end. */
  quietHours?: string | undefined
  /** `08:00`: info alerts wait for this time. */
  dailyAt?: string | undefined
  timeZone: string
}>

export const noRules = (timeZone: string): ChannelRules => ({ minSeverity: 'info', timeZone })

/** Two different times of day: the same one twice would be quiet always. */
export function isQuietHours(text: string): boolean {
  const [from = '', to = '', ...more] = text.split('-')
  return more.length === 0 && isTimeOfDay(from) && isTimeOfDay(to) && from !== to
}

const ranks = { info: 0, warning: 1, critical: 2 } as const satisfies Record<AlertSeverity, number>

/**
 * When a channel sends an alert that is raised or closed at a moment: undefined for never, the moment itself, or a later one for a digest.
 * A critical alert never waits.
 */
export function deliveryTime(rules: ChannelRules, alert: Readonly<{ kind: AlertKind; severity: AlertSeverity }>, nowMs: number) {
  const { minSeverity, kinds, quietHours, dailyAt, timeZone } = rules
  if (ranks[alert.severity] < ranks[minSeverity] || (kinds && !kinds.includes(alert.kind))) return undefined
  if (alert.severity === 'critical') return nowMs
  const dueMs = alert.severity === 'info' && dailyAt !== undefined ? nextTimeOfDay(dailyAt, timeZone, nowMs) : nowMs
  return quietHours === undefined ? dueMs : endOfQuietHours(quietHours, timeZone, dueMs)
}

const dayMs = 24 * 60 * 60_000

/** The first moment after `nowMs` at which the clocks show a time of day; where they skip it, the moment of the change. */
function nextTimeOfDay(time: string, timeZone: string, nowMs: number): number {
  const today = Math.floor((nowMs + offsetMs(timeZone, nowMs)) / dayMs)
  const inDayMs = (Number(time.slice(0, 2)) * 60 + Number(time.slice(3))) * 60_000
  const found = [today, today + 1, today + 2].map((day) => {
    const { moments, after } = momentsOf(timeZone, day * dayMs + inDayMs)
    return moments[0] ?? after
  })
  return found.find((ms) => ms > nowMs) ?? nowMs + dayMs
}

function endOfQuietHours(quietHours: string, timeZone: string, atMs: number): number {
  const [from = '', to = ''] = quietHours.split('-')
  const opening = windowCalendar({ window: [{ days: [...days], from, to }], timeZone }, atMs).at(atMs)
  return opening.fromMs <= atMs ? opening.toMs : atMs
}

type ShownRules = Readonly<{
  minSeverity: AlertSeverity
  kinds: readonly AlertKind[] | null
  quietHours: string | null
  dailyAt: string | null
  timeZone: string
}>

/** `warning and above, 2 kinds, quiet 22:00-07:00 (UTC)`. */
export function rulesText({ minSeverity, kinds, quietHours, dailyAt, timeZone }: ShownRules): string {
  const severities = { info: 'all', warning: 'warning and above', critical: 'critical' } as const
  const parts = [
    severities[minSeverity],
    kinds && plural(kinds.length, 'kind'),
    quietHours && `quiet ${quietHours} (${timeZone})`,
    dailyAt && `info daily at ${dailyAt} (${timeZone})`,
  ]
  return parts.filter(Boolean).join(', ')
}
