import { z } from 'zod'
import { bytesText, plural } from '../kit/index.ts'

// The sizes of a box, one set a day.

/** Sizes of one day (UTC), as its agent reported them; null where it could not read one. */
export const BoxSizes = z.object({
  day: z.iso.date(),
  databaseBytes: z.number().nullable(),
  mediaBytes: z.number().nullable(),
  objectBytes: z.number().nullable(),
})
export type BoxSizes = z.infer<typeof BoxSizes>

export const sizeParts = ['databaseBytes', 'mediaBytes', 'objectBytes'] as const
export type SizePart = (typeof sizeParts)[number]

export const sizesRetentionDays = 30

/** How a box grew. A box that shrank has negative bytes. */
export const BoxGrowth = z.object({
  bytes: z.number(),
  days: z.number().int().meta({ description: 'Days between the first and the last size' }),
  totalBytes: z.number().meta({ description: 'Database, media and objects at the last size' }),
})
export type BoxGrowth = z.infer<typeof BoxGrowth>

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
