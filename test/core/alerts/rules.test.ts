import { describe, expect, test } from 'vitest'
import { type ChannelRules, deliveryTime, isQuietHours, noRules } from '../../../src/core/alerts/index.ts'

const berlin = (given: Partial<ChannelRules> = {}): ChannelRules => ({ ...noRules('Europe/Berlin'), ...given })
const at = (iso: string) => Date.parse(iso)
const due = (rules: ChannelRules, severity: 'info' | 'warning' | 'critical', iso: string) => {
  const ms = deliveryTime(rules, { kind: 'box_down', severity }, at(iso))
  return ms === undefined ? 'never' : new Date(ms).toISOString().slice(0, 16)
}

describe('which alerts a channel gets', () => {
  const now = '2026-01-05T12:00:00Z'
  test.each([
    ['info', 'info', '2026-01-05T12:00'],
    ['warning', 'info', 'never'],
    ['warning', 'warning', '2026-01-05T12:00'],
    ['critical', 'warning', 'never'],
    ['critical', 'critical', '2026-01-05T12:00'],
  ] as const)('from %s on, an alert that is %s: %s', (minSeverity, severity, expected) => {
    expect(due(berlin({ minSeverity }), severity, now)).toBe(expected)
  })

  test('only of the kinds that are listed, critical ones too', () => {
    expect(due(berlin({ kinds: ['host_frozen'] }), 'critical', now)).toBe('never')
    expect(due(berlin({ kinds: ['host_frozen', 'box_down'] }), 'info', now)).toBe('2026-01-05T12:00')
  })
})

const night = berlin({ quietHours: '22:00-07:00' })
describe('quiet hours', () => {
  test.each([
    ['before they begin', '2026-01-05T20:59:00Z', '2026-01-05T20:59'],
    ['at their begin', '2026-01-05T21:00:00Z', '2026-01-06T06:00'],
    ['after midnight', '2026-01-06T02:00:00Z', '2026-01-06T06:00'],
    ['at their end', '2026-01-06T06:00:00Z', '2026-01-06T06:00'],
    ['in the night in which clocks go forward', '2026-03-28T22:00:00Z', '2026-03-29T05:00'],
    ['in the night in which clocks go back', '2026-10-24T21:00:00Z', '2026-10-25T06:00'],
  ])('%s', (_, now, expected) => {
    expect(due(night, 'warning', now)).toBe(expected)
    expect(due(night, 'critical', now)).toBe(now.slice(0, 16))
  })

  test('an end that the clocks skip is the moment of the change; one that they show twice is quiet again the second time', () => {
    const short = berlin({ quietHours: '22:00-02:30' })
    expect(due(short, 'warning', '2026-03-28T23:00:00Z')).toBe('2026-03-29T01:00')
    expect(due(short, 'warning', '2026-10-25T00:45:00Z')).toBe('2026-10-25T00:45')
    expect(due(short, 'warning', '2026-10-25T01:10:00Z')).toBe('2026-10-25T01:30')
  })

  test('within a day, and in another time zone', () => {
    expect(due(berlin({ quietHours: '12:00-13:00' }), 'info', '2026-01-05T11:30:00Z')).toBe('2026-01-05T12:00')
    expect(due({ ...night, timeZone: 'UTC' }, 'warning', '2026-01-05T21:30:00Z')).toBe('2026-01-05T21:30')
  })

  test.each([
    ['22:00-07:00', true],
    ['00:00-23:59', true],
    ['22:00-22:00', false],
    ['22-07', false],
    ['25:00-07:00', false],
    ['22:00-07:00-08:00', false],
  ])('%s is valid: %s', (text, expected) => {
    expect(isQuietHours(text)).toBe(expected)
  })
})

describe('daily digest of info alerts', () => {
  const daily = berlin({ dailyAt: '08:00' })
  test.each([
    ['before its time', '2026-01-05T06:59:00Z', '2026-01-05T07:00'],
    ['at its time', '2026-01-05T07:00:00Z', '2026-01-06T07:00'],
    ['late in the evening', '2026-01-05T23:30:00Z', '2026-01-06T07:00'],
    ['before the clocks go forward', '2026-03-28T12:00:00Z', '2026-03-29T06:00'],
    ['before the clocks go back', '2026-10-24T12:00:00Z', '2026-10-25T07:00'],
  ])('%s', (_, now, expected) => {
    expect(due(daily, 'info', now)).toBe(expected)
    expect(due(daily, 'warning', now)).toBe(now.slice(0, 16))
  })

  test('a time that the clocks skip is the moment of the change', () => {
    expect(due(berlin({ dailyAt: '02:30' }), 'info', '2026-03-28T12:00:00Z')).toBe('2026-03-29T01:00')
  })

  test('within quiet hours it waits for their end', () => {
    expect(due(berlin({ dailyAt: '06:00', quietHours: '22:00-07:00' }), 'info', '2026-01-05T12:00:00Z')).toBe('2026-01-06T06:00')
  })
})
