import { z } from 'zod'

const Day = z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])
type Day = z.infer<typeof Day>

/** Monday first, as the days of a window are counted. */
export const days = Day.options

const TimeOfDay = z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time of day such as 02:00')

/** `to` at or before `from` is on the following day; `days` are those on which it opens. */
const WindowPart = z.strictObject({ days: z.array(Day).min(1).max(7), from: TimeOfDay, to: TimeOfDay })
export type WindowPart = z.infer<typeof WindowPart>

/** When work that users notice may be done, by the wall clock; parts that touch or overlap are one. */
export const MaintenanceWindow = z.array(WindowPart).min(1).max(20)
export type MaintenanceWindow = z.infer<typeof MaintenanceWindow>

/** A tenant's own: parts, or any time whatever its tier says. */
export const TenantWindow = z.union([z.literal('any'), MaintenanceWindow])
export type TenantWindow = z.infer<typeof TenantWindow>

const inText = 'such as "mon-fri 02:00-05:00; sun 22:00-06:00"'

/** Reads `mon,wed 02:00-05:00; sat-sun 22:00-06:00` or `daily 02:00-05:00`; throws a sentence for people. */
export function parseWindow(text: string): MaintenanceWindow {
  const parts = text.split(';').map(parsePart)
  const checked = MaintenanceWindow.safeParse(parts)
  if (!checked.success) throw new Error(`${checked.error.issues[0]?.message ?? 'is no maintenance window'}, ${inText}`)
  return checked.data
}

function parsePart(text: string): unknown {
  const [, listed = '', from, to] = /^(\S+)\s+(\d\d:\d\d)-(\d\d:\d\d)$/.exec(text.trim()) ?? []
  if (!from) throw new Error(`must be days and times, ${inText}`)
  return { days: listed === 'daily' ? [...days] : listed.split(',').flatMap(parseDays), from, to }
}

/** `mon`, or `fri-mon` over the end of the week. */
function parseDays(text: string): Day[] {
  const [first = '', last = first] = text.toLowerCase().split('-')
  const [from, to] = [first, last].map((name) => days.indexOf(name as Day))
  if (from === undefined || to === undefined || from < 0 || to < 0) throw new Error(`${text} is no day of the week, ${inText}`)
  return Array.from({ length: ((to - from + 7) % 7) + 1 }, (_, n) => days[(from + n) % 7] as Day)
}

/** The text that `parseWindow` reads. */
export const windowText = (window: MaintenanceWindow): string =>
  window.map(({ days, from, to }) => `${daysText(days)} ${from}-${to}`).join('; ')

function daysText(listed: readonly Day[]): string {
  const named = days.filter((day) => listed.includes(day))
  const first = days.indexOf(named[0] as Day)
  if (named.length === 7) return 'daily'
  return named.length > 2 && named.every((day, n) => day === days[first + n]) ? `${named[0]}-${named.at(-1)}` : named.join(',')
}
