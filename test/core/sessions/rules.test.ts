import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { problemsOf } from '../../../src/core/contract/index.ts'
import { catalogue } from '../../../src/core/kit/index.ts'
import {
  credentialForm,
  defaultDeviceName,
  delayRefusal,
  deviceNameOf,
  lockSubject,
  refreshEnd,
  sessionEnd,
  sessionsContract,
  tokenLifetimeMs,
  tokenMs,
} from '../../../src/core/sessions/index.ts'

const now = '2026-01-05T02:00:00.000Z'
const rules = { absoluteDays: 90, idleDays: 30, graceSeconds: 0, mostPerUser: 100 }
const inMs = (ms: number) => new Date(Date.parse(now) + ms).toISOString()
const day = 24 * 60 * 60_000

describe('the delay of a refusal', () => {
  test.each([
    [0, 1000],
    [1, 999],
    [999, 1],
    [1000, 0],
    [1001, 999],
    [14_999, 1],
  ])('after %i ms it waits another %i ms', (elapsed, wait) => expect(delayRefusal(elapsed, elapsed).delayMs).toBe(wait))

  test('ends at a full second, the first at the earliest, and is never longer than a second', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60_000 }), (elapsed) => {
        const wait = delayRefusal(elapsed, elapsed).delayMs
        expect((elapsed + wait) % 1000).toBe(0)
        expect(elapsed + wait).toBeGreaterThanOrEqual(1000)
        expect(wait).toBeLessThanOrEqual(1000)
      }),
    )
  })
})

describe('after a slow refusal', () => {
  const hour = 60 * 60_000

  test.each([
    ['the next is as slow', 1400, 10, 10, 2000],
    ['the next may be slower', 1400, 2100, 2100, 3000],
    ['a fast one after an hour is fast', 1400, 10, hour + 10, 1000],
    ['a hanging server delays others by three seconds at most', 14_200, 10, 10, 3000],
    ['a fast one delays nobody', 900, 10, 10, 1000],
  ])('%s', (_, firstMs, secondMs, laterMs, answeredMs) => {
    const { slow } = delayRefusal(firstMs, 0)
    expect(secondMs + delayRefusal(secondMs, laterMs, slow).delayMs).toBe(answeredMs)
  })

  test('a faster one does not shorten the memory', () => {
    const { slow } = delayRefusal(2400, 0)
    const next = delayRefusal(1400, 10, slow)
    expect([next.delayMs, next.slow]).toEqual([1600, slow])
  })
})

describe('lifetimes', () => {
  test('a session with refresh tokens lives for its absolute days, one without for a day', () => {
    expect(sessionEnd(rules, now, true)).toBe(inMs(90 * day))
    expect(sessionEnd(rules, now, false)).toBe(inMs(day + 60_000))
  })

  test('a refresh token lives for the idle days, a platform token for a day, and neither outlives its session', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 * day }), (leftMs) => {
        const end = inMs(leftMs)
        expect(refreshEnd(rules, now, end)).toBe(leftMs < 30 * day ? end : inMs(30 * day))
        const lifetime = tokenLifetimeMs(now, end)
        expect(lifetime % 1000).toBe(0)
        expect(lifetime).toBeLessThanOrEqual(Math.min(tokenMs, leftMs))
        expect(Math.min(tokenMs, leftMs) - lifetime).toBeLessThan(1000)
      }),
    )
  })
})

test.each([
  [undefined, defaultDeviceName],
  ['', defaultDeviceName],
  [' \n ', defaultDeviceName],
  ['  Anna’s   phone ', 'Anna’s phone'],
  ['x'.repeat(300), 'x'.repeat(100)],
  ['🙂'.repeat(101), '🙂'.repeat(100)],
  ['a\u001b[31mb', 'a\ufffd[31mb'],
])('the device name %j becomes %j', (requested, name) => expect(deviceNameOf(requested)).toBe(name))

test.each([
  ['syt_YW5uYQ_abc_0', 'matrix'],
  ['mat_abc', 'matrix'],
  ['mct_abc', 'matrix'],
  ['MDAxabc', 'matrix'],
  ['eyJh.eyJz.c2ln', 'jwt'],
  ['a.b.c', 'jwt'],
  ['tnt_abc', 'other'],
  ['tnr_abc', 'other'],
  ['a..c', 'other'],
  ['', 'other'],
])('the credential %j has the form %s', (credential, form) => expect(credentialForm(credential)).toBe(form))

test('the lock subject is canonical, and cannot be forged to match another tenant', () => {
  const subject = lockSubject({ id: 'ten_1' }, 'whatever', ' Anna')
  expect(lockSubject({ id: 'ten_1' }, 'chat.example', 'ANNA ')).toBe(subject)
  expect(lockSubject(undefined, 'ten_1', 'anna')).not.toBe(subject)
  expect(lockSubject(undefined, 'X ', 'anna')).toBe(lockSubject(undefined, 'x', 'anna'))
  expect(lockSubject(undefined, 'a","b', 'c')).not.toBe(lockSubject(undefined, 'a', 'b","c'))
})

describe('the login request', () => {
  const body = sessionsContract.userLogin.body
  const right = { tenant: 'one', username: 'anna', password: 'x' }

  test.each<[object, boolean]>([
    [right, true],
    [{ ...right, deviceName: 'Phone', issueRefreshToken: true }, true],
    [{ ...right, username: 'Anna.Müller' }, true],
    [{ ...right, username: '@anna' }, false],
    [{ ...right, username: 'anna:chat.one.example' }, false],
    [{ ...right, username: '' }, false],
    [{ ...right, password: '' }, false],
    [{ ...right, password: 'x'.repeat(513) }, false],
    [{ ...right, issueRefreshToken: 'yes' }, false],
    [{ username: 'anna', password: 'x' }, false],
  ])('%j is valid: %s', (input, isValid) => expect(body.safeParse(input).success).toBe(isValid))
})

describe('the new password', () => {
  const isValid = (newPassword: string) => sessionsContract.changeUserPassword.body.safeParse({ currentPassword: 'x', newPassword }).success

  test.each<[string, boolean]>([
    ['kpwzrtb', false],
    ['kpwzrtbv', true],
    ['12345678', false], // a common one
    ['éèêëàâù'.normalize('NFD'), false], // fourteen code points, seven characters
    ['éèêëàâùï'.normalize('NFD'), true],
    ['kpwzrtbv'.repeat(9), true],
    [`${'kpwzrtbv'.repeat(9)}x`, false],
    ['éèêëàâùïô'.repeat(4), true],
    [`${'éèêëàâùïô'.repeat(4)}û`, false],
    ['\ufdfa', false], // the chat server expands it to eighteen characters
    ['\ufb03k\ufb03w'.repeat(2), true],
    [`${'\ufb03kpwzr\ufb03tbvm'.repeat(4)}${'\ufb03'.repeat(5)}`, false], // each ligature becomes three letters there
  ])('%j is valid: %s', (password, expected) => expect(isValid(password)).toBe(expected))
})

test.each([
  ['userLogin', [401, 429, 503]],
  ['refresh', [401]],
  ['changeUserPassword', [400, 401, 429]],
] as const)('%s declares the statuses %j', (name, statuses) => {
  const declared = [...problemsOf(sessionsContract[name])].map((code) => catalogue[code].status)
  for (const status of statuses) expect(declared).toContain(status)
})
