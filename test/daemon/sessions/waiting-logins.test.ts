import { expect, test } from 'vitest'
import { manualClock, sha256Hex } from '../../../src/core/kit/index.ts'
import { reserveAttempt } from '../../../src/daemon/sessions/login-attempts.ts'
import { waitingLogins } from '../../../src/daemon/sessions/waiting-logins.ts'
import { emptyDatabase } from '../../support/databases.ts'

test('a hundred wait for one account, the next does not, and a place is free once one has ended', async () => {
  const waiting = waitingLogins()
  const ends: (() => void)[] = []
  const come = (subject: string) => waiting.wait(subject, () => new Promise<void>((resolve) => void ends.push(resolve)))
  const all = Array.from({ length: 100 }, () => come('anna'))
  expect(come('anna')).toBeUndefined()
  expect(come('ben')).toBeDefined()
  ends[0]?.()
  await all[0]
  expect(come('anna')).toBeDefined()
})

test('a wait that fails gives its place back', async () => {
  const waiting = waitingLogins()
  for (let n = 0; n < 600; n++)
    await expect(waiting.wait('anna', () => Promise.reject(new Error('the database is away')))).rejects.toThrow('away')
})

test('whom there is no place for is told why, and when to come again', async () => {
  const [{ db }, clock] = [await emptyDatabase('sqlite'), manualClock()]
  const waiting = waitingLogins()
  const reserve = () => reserveAttempt({ db, clock, waiting }, { lockSubject: 'anna', address: '192.0.2.1' })
  for (let n = 0; n < 10; n++) await reserve()
  for (let n = 0; n < 100; n++) void waiting.wait(sha256Hex('anna'), () => new Promise(() => undefined))
  await expect(reserve()).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    status: 503,
    retryAfterSeconds: 5,
    message: 'too many logins wait for others of the same account to end: log in again in 5 s',
  })
  expect(clock.sleepers()).toBe(0)
})

test('who has left waits no longer, and takes no place', async () => {
  const [{ db }, clock] = [await emptyDatabase('sqlite'), manualClock()]
  const deps = { db, clock, waiting: waitingLogins() }
  const reserve = (signal?: AbortSignal) => reserveAttempt(deps, { lockSubject: 'anna', address: '192.0.2.1', signal })
  for (let n = 0; n < 10; n++) await reserve()
  const leaving = new AbortController()
  const eleventh = reserve(leaving.signal).catch((error) => error.code)
  await expect.poll(() => clock.sleepers(), { timeout: 10_000 }).toBe(1)
  leaving.abort()
  expect(await eleventh).toBe('UNAVAILABLE')
  expect(clock.sleepers()).toBe(0)
  expect(await db.selectFrom('user_login_failures').select('pending').execute()).toEqual([{ pending: 10 }])
})
