import { offsetMs } from './time-zone.ts'

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

/** `Mon 2026-03-30 02:00 Europe/Berlin (2026-03-30 00:00 UTC)`: a moment for people there and for those who read logs. */
export function momentText(iso: string, timeZone: string): string {
  const atMs = Date.parse(iso)
  const offset = offsetMs(timeZone, atMs)
  const there = new Date(atMs + offset)
  const day = weekdays[there.getUTCDay()]
  if (timeZone === 'UTC') return `${day} ${minuteText(there)} UTC`
  return `${day} ${minuteText(there)} ${timeZone} (${minuteText(new Date(atMs))} UTC)`
}

const minuteText = (time: Date) => time.toISOString().slice(0, 16).replace('T', ' ')
