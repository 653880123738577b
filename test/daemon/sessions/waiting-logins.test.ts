import { expect, test } from 'vitest'
import { manualClock, sha256Hex } from '../../../src/core/kit/index.ts'
import { loginWaiters, reserveAttempt } from '../../../src/daemon/sessions/login-attempts.ts'
import { emptyDatabase } from '../../support/databases.ts'

test('a hundred logins wait for one account, the next does not, and a slot is free once one has ended', async () => {
  const waiting = loginWaiters()
  const ends: (() => void)[] = []
  const come = (subject: string) => waiting.wait(subject, () => new Promise<void>((resolve) => void ends.push(resolve)))
  const all = Array.from({ length: 100 }, () => come('anna'))
  expect(come('anna')).toBeUndefined()
  expect(come('ben')).toBeDefined()
  ends[0]?.()
  await all[0]
  expect(come('anna')).toBeDefined()
})

test('a wait that fails releases its slot', async () => {
  const waiting = loginWaiters()
  for (let n = 0; n < 600; n++)
    await expect(waiting.wait('anna', () => Promise.reject(new Error('the database is away')))).rejects.toThrow('away')
})

test('a login beyond the limit gets the reason and Retry-After', async () => {
  const [{ db }, clock] = [await emptyDatabase('sqlite'), manualClock()]
  const waiting = loginWaiters()
  const reserve = () => reserveAttempt({ db, clock, waiting }, { lockSubject: 'anna', address: '192.0.2.1' })
  for (let n = 0; n < 10; n++) await reserve()
  for (let n = 0; n < 100; n++) void waiting.wait(sha256Hex('anna'), () => new Promise(() => undefined))
  await expect(reserve()).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    status: 503,
    retryAfterSeconds: 5,
    message: 'Too many parallel logins of this account. fix: log in again in 5 s',
  })
  expect(clock.sleepers()).toBe(0)
})

test('a caller that disconnected waits no longer and takes no slot', async () => {
  const [{ db }, clock] = [await emptyDatabase('sqlite'), manualClock()]
  const deps = { db, clock, waiting: loginWaiters() }
  const reserve = (signal?: AbortSignal) => reserveAttempt(deps, { lockSubject: 'anna', address: '192.0.2.1', signal })
  for (let n = 0; n < 10; n++) await reserve()
  const leaving = new AbortController()
  const eleventh = reserve(leaving.signal).catch((error) => error.code)
  await expect.poll(() => clock.sleepers()).toBe(1)
  leaving.abort()
  expect(await eleventh).toBe('UNAVAILABLE')
  expect(clock.sleepers()).toBe(0)
  expect(await db.selectFrom('user_login_failures').select('pending').execute()).toEqual([{ pending: 10 }])
})
