/** Monday first, as the days of a window are counted. */
export const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
type Day = (typeof days)[number]

/** `to` at or before `from` is on the following day; `days` are those on which it opens. */
export type WindowPart = { days: Day[]; from: string; to: string }

export const isTimeOfDay = (text: string): boolean => /^([01][0-9]|2[0-3]):[0-5][0-9]$/.test(text)

const inText = 'such as "mon-fri 02:00-05:00; sun 22:00-06:00"'

/** Reads `mon,wed 02:00-05:00; sat-sun 22:00-06:00` or `daily 02:00-05:00`; throws a sentence for people. */
export const parseWindow = (text: string): WindowPart[] => text.split(';').map(parsePart)

function parsePart(text: string): WindowPart {
  const [, listed = '', from = '', to = ''] = /^(\S+)\s+(\d\d:\d\d)-(\d\d:\d\d)$/.exec(text.trim()) ?? []
  if (!isTimeOfDay(from) || !isTimeOfDay(to)) throw new Error(`must be days and times, ${inText}`)
  return { days: listed === 'daily' ? [...days] : listed.split(',').flatMap(parseDays), from, to }
}

/** `mon`, or `fri-mon` over the end of the week. */
function parseDays(text: string): Day[] {
  const [first = '', last = first] = text.toLowerCase().split('-')
  const [from, to] = [first, last].map((name) => days.indexOf(name as Day))
  if (from === undefined || to === undefined || from < 0 || to < 0) throw new Error(`${text} is not a day of the week, ${inText}`)
  return Array.from({ length: ((to - from + 7) % 7) + 1 }, (_, n) => days[(from + n) % 7] as Day)
}

/** The text that `parseWindow` reads. */
export const windowText = (window: readonly WindowPart[]): string =>
  window.map(({ days, from, to }) => `${daysText(days)} ${from}-${to}`).join('; ')

function daysText(listed: readonly Day[]): string {
  const named = days.filter((day) => listed.includes(day))
  const first = days.indexOf(named[0] as Day)
  if (named.length === 7) return 'daily'
  return named.length > 2 && named.every((day, n) => day === days[first + n]) ? `${named[0]}-${named.at(-1)}` : named.join(',')
}
