import { bytesText, plural } from '../kit/index.ts'
import type { BoxGrowth, BoxSizes } from './sizes.ts'

export const sizeParts = ['databaseBytes', 'mediaBytes', 'objectBytes'] as const
export type SizePart = (typeof sizeParts)[number]

const dayMs = 86_400_000

/** The growth between the first and the last known size of each part, oldest day first. Null without sizes of two days. */
export function growthOf(days: readonly BoxSizes[]): BoxGrowth | null {
  const courses = sizeParts.map((part) => days.filter((day) => day[part] !== null).map((day) => ({ day: day.day, bytes: day[part] ?? 0 })))
  const known = courses.filter((course) => course.length >= 2)
  if (known.length === 0) return null
  const spans = known.map((course) => (Date.parse(course.at(-1)?.day ?? '') - Date.parse(course[0]?.day ?? '')) / dayMs)
  return {
    bytes: sum(known.map((course) => (course.at(-1)?.bytes ?? 0) - (course[0]?.bytes ?? 0))),
    days: Math.max(...spans),
    totalBytes: sum(courses.map((course) => course.at(-1)?.bytes ?? 0)),
  }
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

/** `grew by 1.2 GB in 30 days`. */
export function growthText({ bytes, days }: Pick<BoxGrowth, 'bytes' | 'days'>): string {
  const span = plural(days, 'day')
  if (bytes === 0) return `same size for ${span}`
  return `${bytes > 0 ? 'grew' : 'shrank'} by ${bytesText(Math.abs(bytes))} in ${span}`
}
