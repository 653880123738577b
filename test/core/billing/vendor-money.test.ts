import { expect, test } from 'vitest'
import { isCharged, salesMonths } from '../../../src/core/billing/index.ts'

const span = (from: string, to: string | null = null) => ({ from_at: `${from}T10:00:00.000Z`, to_at: to && `${to}T10:00:00.000Z` })
const charged = (spans: ReturnType<typeof span>[], month: string, { now = '2026-12-31', endsAt = null as string | null } = {}) =>
  isCharged(spans, { month, now: `${now}T10:00:00.000Z`, endsAt: endsAt && `${endsAt}T10:00:00.000Z` })

test('a price per month is charged at the first installation and on its day of each month while it is installed', () => {
  const one = [span('2026-01-31', '2026-04-15')]
  expect(['2025-12', '2026-01', '2026-02', '2026-03', '2026-04', '2026-05'].filter((month) => charged(one, month))).toEqual([
    ...['2026-01', '2026-02', '2026-03'],
  ])
  // Uninstalled over its day, and installed again within the period.
  const again = [span('2026-01-10', '2026-02-05'), span('2026-02-20')]
  expect(charged(again, '2026-02')).toBe(false)
  expect(charged([span('2026-01-10', '2026-02-05'), span('2026-02-07')], '2026-02')).toBe(true)
  expect(charged([], '2026-01')).toBe(false)
})

test('a period that has not begun, and one after the withdrawal of the item, are not charged', () => {
  const one = [span('2026-01-10')]
  expect(charged(one, '2026-03', { now: '2026-03-09' })).toBe(false)
  expect(charged(one, '2026-03', { now: '2026-03-10' })).toBe(true)
  expect(charged(one, '2026-03', { endsAt: '2026-03-09' })).toBe(false)
  expect(charged(one, '2026-03', { endsAt: '2026-03-10' })).toBe(true)
  expect(charged(one, '2026-01', { endsAt: '2026-01-10' })).toBe(true)
})

test('a range has from 1 to 24 months, by default a year back', () => {
  const now = '2026-03-15T10:00:00.000Z'
  expect(salesMonths({}, now)).toHaveLength(13)
  expect(salesMonths({}, now)?.[0]).toBe('2025-03')
  expect(salesMonths({ from: '2026-03' }, now)).toEqual(['2026-03'])
  expect(salesMonths({ to: '2000-02' }, now)).toEqual(['2000-01', '2000-02'])
  expect(salesMonths({ from: '2024-04' }, now)).toHaveLength(24)
  expect(salesMonths({ from: '2024-03' }, now)).toBeUndefined()
  expect(salesMonths({ from: '2026-04' }, now)).toBeUndefined()
  expect(salesMonths({ from: '2000-01', to: '2099-12' }, now)).toBeUndefined()
})
