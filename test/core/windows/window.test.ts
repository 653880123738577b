import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { momentText, parseWindow, windowText } from '../../../src/core/wall-clock/index.ts'
import { MaintenanceWindow, TimeZone, windowAt, windowInForce } from '../../../src/core/windows/index.ts'

describe('a window as text', () => {
  test.each([
    ['mon 02:00-05:00', [{ days: ['mon'], from: '02:00', to: '05:00' }]],
    ['MON,wed-fri 02:00-05:00', [{ days: ['mon', 'wed', 'thu', 'fri'], from: '02:00', to: '05:00' }]],
    ['sat-mon 22:00-06:00', [{ days: ['sat', 'sun', 'mon'], from: '22:00', to: '06:00' }]],
    ['daily 02:00-05:00', [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], from: '02:00', to: '05:00' }]],
    [
      'mon 02:00-05:00; sun 22:00-06:00',
      [
        { days: ['mon'], from: '02:00', to: '05:00' },
        { days: ['sun'], from: '22:00', to: '06:00' },
      ],
    ],
  ])('%s', (text, window) => {
    expect(parseWindow(text)).toEqual(window)
  })

  test.each([
    '',
    'mon',
    '02:00-05:00',
    'moon 02:00-05:00',
    'mon- 02:00-05:00',
    'mon 2-5',
    'mon 25:00-26:00',
    'mon 02:00-24:00',
    'mon 02:00-05:00;',
  ])('"%s" is refused with an example', (text) => {
    expect(() => parseWindow(text)).toThrow('such as "mon-fri 02:00-05:00; sun 22:00-06:00"')
  })

  test('is parsed as it is printed', () => {
    const names = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
    const time = fc.tuple(fc.nat({ max: 23 }), fc.nat({ max: 59 })).map((parts) => parts.map((n) => String(n).padStart(2, '0')).join(':'))
    const part = fc.record({ days: fc.subarray([...names], { minLength: 1 }), from: time, to: time })
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (window) => {
        expect(parseWindow(windowText(window))).toEqual(MaintenanceWindow.parse(window))
      }),
    )
  })
})

test.each(['Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'Europe/Kyiv'])('%s is a time zone', (zone) => {
  expect(TimeZone.parse(zone)).toBe(zone)
})

test.each(['', 'Berlin', '+01:00', 'Europe/Atlantis', 'UTC+1', '../etc'])('"%s" is not a time zone', (zone) => {
  expect(TimeZone.safeParse(zone).success).toBe(false)
})

describe('the effective window', () => {
  const rules = { timeZone: 'Europe/Berlin', windows: { free: parseWindow('daily 01:00-05:00'), pro: null, enterprise: null } }
  const own = parseWindow('sun 03:00-06:00')
  const nothing = { timeZone: null, maintenanceWindow: null }

  test('is the tenant’s own before that of its tier, in its own time zone before the platform’s', () => {
    expect(windowInForce(rules, 'free', nothing)).toEqual({ window: rules.windows.free, timeZone: 'Europe/Berlin', own: false })
    expect(windowInForce(rules, 'free', { timeZone: 'Asia/Tokyo', maintenanceWindow: null })).toMatchObject({
      timeZone: 'Asia/Tokyo',
      own: false,
    })
    expect(windowInForce(rules, 'pro', { timeZone: null, maintenanceWindow: own })).toEqual({
      window: own,
      timeZone: 'Europe/Berlin',
      own: true,
    })
  })

  test('is none if neither is set, or if the tenant has any time', () => {
    expect(windowInForce(rules, 'pro', nothing)).toBeNull()
    expect(windowInForce(rules, 'free', { timeZone: null, maintenanceWindow: 'any' })).toBeNull()
  })

  test('is shown with the current opening from its start, else with the next one', () => {
    const inForce = { window: parseWindow('mon 02:00-05:00'), timeZone: 'Europe/Berlin', own: true }
    const open = { opensAt: '2026-01-05T01:00:00.000Z', closesAt: '2026-01-05T04:00:00.000Z' }
    expect(windowAt(inForce, '2026-01-05T03:59:59.999Z')).toEqual({ ...inForce, ...open })
    expect(windowAt(inForce, '2026-01-05T00:59:00.000Z')).toMatchObject(open)
    expect(windowAt(inForce, '2026-01-05T04:00:00.000Z').opensAt).toBe('2026-01-12T01:00:00.000Z')
  })
})

test('a time is shown in the zone and in UTC', () => {
  expect(momentText('2026-03-30T00:00:00.000Z', 'Europe/Berlin')).toBe('Mon 2026-03-30 02:00 Europe/Berlin (2026-03-30 00:00 UTC)')
  expect(momentText('2026-01-04T20:30:00.000Z', 'Asia/Kolkata')).toBe('Mon 2026-01-05 02:00 Asia/Kolkata (2026-01-04 20:30 UTC)')
  expect(momentText('2026-01-05T02:00:00.000Z', 'UTC')).toBe('Mon 2026-01-05 02:00 UTC')
})
