import { z } from 'zod'
import { usageAnchor } from '../payments/index.ts'

/** A month in UTC: `2026-11`. */
export const Month = z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/, 'must be a month such as 2026-11')
export type Month = string

export const monthOf = (at: string): Month => at.slice(0, 7)
export const dayOf = (at: string): string => at.slice(0, 10)

function monthAt(month: Month, offset: number): Month {
  const [year, nth] = month.split('-').map(Number) as [number, number]
  return new Date(Date.UTC(year, nth - 1 + offset, 1)).toISOString().slice(0, 7)
}

const monthAfter = (month: Month): Month => monthAt(month, 1)
export const monthBefore = (month: Month, count = 1): Month => monthAt(month, -count)

/** The first moment that is no longer in the month. */
export const monthEnd = (month: Month): string => `${monthAfter(month)}-01T00:00:00.000Z`

const lastDayOf = (month: Month): string => new Date(Date.parse(monthEnd(month)) - 1).toISOString().slice(0, 10)

/** From the first month to the last one, both included. */
export function monthsBetween(first: Month, last: Month): Month[] {
  const months: Month[] = []
  for (let month = first; month <= last; month = monthAfter(month)) months.push(month)
  return months
}

/**
 * When the usage of a month counts at the provider. It is fixed, so that a repeated report replaces the former one, and the last second, so that it
 * is in the period of a subscription that began on the last day.
 */
export const reportTimeOf = (month: Month): string => `${lastDayOf(month)}T23:59:59.000Z`

/** The end of the period that a time belongs to: its usage is invoiced then. */
export function invoiceTimeOf(at: string): string {
  const { dayOfMonth, hour } = usageAnchor
  const inMonth = (month: Month) => `${month}-${String(dayOfMonth).padStart(2, '0')}T${String(hour).padStart(2, '0')}:00:00.000Z`
  const month = monthOf(at)
  return at < inMonth(month) ? inMonth(month) : inMonth(monthAfter(month))
}
