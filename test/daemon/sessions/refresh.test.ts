import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import type { Db } from '../../../src/daemon/db/index.ts'
import { logout } from '../../../src/daemon/sessions/end-sessions.ts'
import { deleteExpiredSessions, endUserSessions } from '../../../src/daemon/sessions/index.ts'
import { newRefreshToken, refreshHash } from '../../../src/daemon/sessions/sessions.repo.ts'
import { refresh, rotateRefreshToken } from '../../../src/daemon/sessions/tokens.ts'
import { onBothDialects } from '../../support/databases.ts'
import { dyingAt } from '../../support/dying.ts'
import { aChatUser, aSessionsWorld, emptied, logIn, type SessionsWorld, twoTenants } from '../../support/sessions-world.ts'

const day = 24 * 60 * 60_000
const rooms: SessionsWorld[] = []
afterEach(() => {
  for (const room of rooms.splice(0)) room.stop()
})

async function replicas(db: Db, count: number, options: Parameters<typeof aSessionsWorld>[2] = {}) {
  const servers = await twoTenants(db)
  await aChatUser(servers.ten_one)
  const first = await aSessionsWorld(db, servers, options)
  const others = await Promise.all(Array.from({ length: count - 1 }, () => aSessionsWorld(db, servers, { ...options, clock: first.clock })))
  rooms.push(first, ...others)
  return [first, ...others] as [SessionsWorld, ...SessionsWorld[]]
}

const firstToken = async (room: SessionsWorld) => (await logIn(room)).refreshToken as string
const codeOf = (room: SessionsWorld, refreshToken: string) =>
  refresh(room, { refreshToken }).then(
    () => 'ok',
    ({ code }: { code: string }) => code,
  )
/** Advances time without the half-second reads of the revocations, which would take long. */
const pass = async (room: SessionsWorld, ms: number) => {
  for (const one of rooms) one.stop()
  await room.clock.advance(ms)
}

onBothDialects('refresh', (fresh) => {
  test('a refresh returns both tokens and no chat token; the new platform token is of the same session', async () => {
    const [room] = await replicas(await fresh(), 1)
    const login = await logIn(room)
    const before = await room.authenticate(`Bearer ${login.token}`)
    const answer = await refresh(room, { refreshToken: login.refreshToken as string })
    expect(answer).toEqual({
      token: expect.any(String),
      expiresIn: 86_400,
      refreshToken: expect.stringMatching(/^tnr_[\w-]{43}$/),
      refreshTokenExpiresAt: new Date(room.clock.now().getTime() + 30 * day).toISOString(),
    })
    expect(answer.refreshToken).not.toBe(login.refreshToken)
    expect(await room.authenticate(`Bearer ${answer.token}`)).toEqual(before)
  })

  test('a reused token ends the session with its newest refresh token and its platform tokens', async () => {
    const db = await fresh()
    const [room, other] = (await replicas(db, 2)) as [SessionsWorld, SessionsWorld]
    const first = await firstToken(room)
    const { refreshToken: second, token } = await refresh(room, { refreshToken: first })
    await other.authenticate(`Bearer ${token}`)
    const tenants: string[] = []
    await expect(refresh(other, { refreshToken: first, setTenant: (id) => tenants.push(id) })).rejects.toMatchObject({
      code: 'REFRESH_TOKEN_REUSED',
      status: 401,
      retryable: false,
    })
    expect(tenants).toEqual(['ten_one'])
    await expect(other.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await codeOf(room, second)).toBe('REFRESH_TOKEN_INVALID')
    expect(await codeOf(room, first)).toBe('REFRESH_TOKEN_REUSED')
    expect(await db.selectFrom('sessions').select('ended_by').execute()).toEqual([{ ended_by: 'reuse' }])
    expect(await db.selectFrom('revocations').select('seq').where('kind', '!=', 'tenant').execute()).toHaveLength(1) // published once
  })

  test('of two concurrent refreshes one succeeds, and the session ends', async () => {
    const [one, two] = (await replicas(await fresh(), 2)) as [SessionsWorld, SessionsWorld]
    const token = await firstToken(one)
    const answers = await Promise.allSettled([refresh(one, { refreshToken: token }), refresh(two, { refreshToken: token })])
    const won = answers.filter((answer) => answer.status === 'fulfilled')
    const lost = answers.filter((answer) => answer.status === 'rejected')
    expect([won.length, lost[0]?.reason.code]).toEqual([1, 'REFRESH_TOKEN_REUSED'])
    expect(await codeOf(one, won[0]?.value.refreshToken as string)).toBe('REFRESH_TOKEN_INVALID')
  })

  test('unknown, malformed, idle for 30 days, ended, of a disabled user, of a suspended tenant: the same 401, and nothing is spent', async () => {
    const db = await fresh()
    const [room] = await replicas(db, 1)
    for (const token of ['', 'x', newRefreshToken(room.random)]) expect(await codeOf(room, token)).toBe('REFRESH_TOKEN_INVALID')
    const token = await firstToken(room)
    for (const [table, bad, good] of [
      ['users', 'disabled', 'active'],
      ['tenants', 'suspended', 'active'],
    ] as const) {
      await db
        .updateTable(table)
        .set({ status: bad } as never)
        .execute()
      expect(await codeOf(room, token)).toBe('REFRESH_TOKEN_INVALID')
      await db
        .updateTable(table)
        .set({ status: good } as never)
        .execute()
    }
    const { refreshToken } = await refresh(room, { refreshToken: token })
    await pass(room, 30 * day - 1)
    const { refreshToken: last } = await refresh(room, { refreshToken })
    await room.clock.advance(30 * day)
    expect(await codeOf(room, last)).toBe('REFRESH_TOKEN_INVALID')
  })

  test('a session ends after 90 days however often it was refreshed, and its last tokens end with it', async () => {
    const db = await fresh()
    const [room] = await replicas(db, 1)
    let token = await firstToken(room)
    for (const days of [29, 29, 29]) {
      await pass(room, days * day)
      token = (await refresh(room, { refreshToken: token })).refreshToken
    }
    await room.clock.advance(2.5 * day)
    const last = await refresh(room, { refreshToken: token })
    expect(last.expiresIn).toBe(12 * 60 * 60)
    expect(last.refreshTokenExpiresAt).toBe(new Date(room.clock.now().getTime() + day / 2).toISOString())
    await room.clock.advance(day / 2)
    expect(await codeOf(room, last.refreshToken)).toBe('REFRESH_TOKEN_INVALID')
    await expect(room.authenticate(`Bearer ${last.token}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await deleteExpiredSessions(room)).toBe('1 ended session')
    expect(await db.selectFrom('refresh_tokens').selectAll().execute()).toEqual([])
  })

  test('a used token is recognised until its session expires, also after a logout', async () => {
    const [room] = await replicas(await fresh(), 1)
    const first = await firstToken(room)
    const { refreshToken } = await refresh(room, { refreshToken: first })
    await logout(room, { refreshToken, authorization: undefined })
    await pass(room, 89 * day)
    await deleteExpiredSessions(room)
    expect(await codeOf(room, first)).toBe('REFRESH_TOKEN_REUSED')
  })

  test('ended sessions of a disabled user stay ended when the user is enabled', async () => {
    const db = await fresh()
    const [room] = await replicas(db, 1)
    const { token, refreshToken } = await logIn(room)
    const { userId } = await room.authenticate(`Bearer ${token}`)
    await db.transaction().execute((tx) => endUserSessions(tx, room.clock, { userId, by: 'disabled' }))
    await room.revocations.readNow()
    expect(await codeOf(room, refreshToken as string)).toBe('REFRESH_TOKEN_INVALID')
    await expect(room.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('a missing signing key does not cost the session', async () => {
    const [room] = await replicas(await fresh(), 1)
    const token = await firstToken(room)
    const broken = { ...room, keys: { ...room.keys, sign: () => Promise.reject(new Error('no key')) } }
    await expect(refresh(broken, { refreshToken: token })).rejects.toThrow('no key')
    expect(await codeOf(room, token)).toBe('ok')
  })

  test.each([0, 30])('killed at any statement of the rotation, the token is unchanged (grace time %i s)', async (graceSeconds) => {
    const db = await fresh()
    const [room] = await replicas(db, 1)
    const token = await firstToken(room)
    const rotation = {
      hash: refreshHash(token),
      successor: newRefreshToken(room.random),
      salt: 'salt',
      rules: { ...room.rules, graceSeconds },
    }
    let statements = 0
    for (;;) {
      statements += 1
      const died = await db
        .transaction()
        .execute((tx) => rotateRefreshToken(dyingAfter(tx, statements), room.clock, rotation))
        .then(
          () => false,
          (error: Error) => error.message === 'killed',
        )
      if (!died) break
      expect(await db.selectFrom('refresh_tokens').select(['hash', 'used_at']).execute()).toEqual([{ hash: rotation.hash, used_at: null }])
      expect(statements).toBeLessThan(20)
    }
    expect(statements).toBeGreaterThan(graceSeconds > 0 ? 4 : 3)
    expect(await codeOf(room, rotation.successor)).toBe('ok')
  })

  test('a commit whose answer was lost does not cost the session: the successor is returned', async () => {
    const db = await fresh()
    const [room] = await replicas(db, 1)
    const token = await firstToken(room)
    const lost = dyingAt(db, 1, 'after')
    const { refreshToken } = await refresh({ ...room, db: lost.db }, { refreshToken: token })
    expect(lost.died()).toBe(true)
    expect(await codeOf(room, refreshToken)).toBe('ok')
  })

  test('a commit that did not happen spends nothing, and returns its own error', async () => {
    const db = await fresh()
    const [room] = await replicas(db, 1)
    const token = await firstToken(room)
    await expect(refresh({ ...room, db: dyingAt(db, 1, 'before').db }, { refreshToken: token })).rejects.toThrow('killed before the commit')
    expect(await codeOf(room, token)).toBe('ok')
  })

  test('refresh tokens are stored as hashes only', async () => {
    const db = await fresh()
    const [room] = await replicas(db, 1)
    const token = await firstToken(room)
    const { refreshToken } = await refresh(room, { refreshToken: token })
    const stored = JSON.stringify([
      await db.selectFrom('refresh_tokens').selectAll().execute(),
      await db.selectFrom('sessions').selectAll().execute(),
    ])
    for (const one of [token, refreshToken]) expect(stored).not.toContain(one.slice(4))
  })
})

/** The transaction of a process that dies after a number of statements. */
function dyingAfter<Tx extends object>(tx: Tx, statements: number): Tx {
  let left = statements
  return new Proxy(tx, {
    get: (of, key) => {
      const value = Reflect.get(of, key)
      if (key === 'getExecutor') {
        return () => {
          const executor = Reflect.apply(value as () => object, of, [])
          return new Proxy(executor, { get: (inner, name) => (name === 'executeQuery' ? step(inner) : bound(inner, name)) })
        }
      }
      if (['selectFrom', 'insertInto', 'updateTable', 'deleteFrom'].includes(String(key))) {
        left -= 1
        if (left < 0) throw new Error('killed')
      }
      return typeof value === 'function' ? value.bind(of) : value
    },
  })
  function step(executor: object) {
    return (...given: unknown[]) => {
      left -= 1
      if (left < 0) return Promise.reject(new Error('killed'))
      return Reflect.apply(Reflect.get(executor, 'executeQuery') as () => unknown, executor, given)
    }
  }
  function bound(of: object, name: string | symbol) {
    const value = Reflect.get(of, name)
    return typeof value === 'function' ? value.bind(of) : value
  }
}

onBothDialects('a grace time', (fresh) => {
  const graced = async (db: Db) => replicas(db, 2, { rules: { graceSeconds: 30 } }) as Promise<[SessionsWorld, SessionsWorld]>

  test('two processes that refresh at once get the same successor, and the session continues', async () => {
    const [one, two] = await graced(await fresh())
    const token = await firstToken(one)
    const [left, right] = await Promise.all([refresh(one, { refreshToken: token }), refresh(two, { refreshToken: token })])
    expect(right.refreshToken).toBe(left.refreshToken)
    expect(right.refreshTokenExpiresAt).toBe(left.refreshTokenExpiresAt)
    await pass(one, day)
    const next = await refresh(one, { refreshToken: left.refreshToken })
    expect((await refresh(two, { refreshToken: right.refreshToken })).refreshToken).toBe(next.refreshToken)
    await pass(one, 60_000)
    expect(await codeOf(two, next.refreshToken)).toBe('ok')
  })

  test('no stored row leads from a token to a valid one, except from the token used last', async () => {
    const db = await fresh()
    const [one] = await graced(db)
    let token = await firstToken(one)
    for (let round = 0; round < 3; round += 1) ({ refreshToken: token } = await refresh(one, { refreshToken: token }))
    const rows = await db.selectFrom('refresh_tokens').selectAll().execute()
    expect(rows.filter(({ successor_salt }) => successor_salt !== null)).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(token)
  })

  test('without a grace time nothing is stored that leads to a successor', async () => {
    const db = await fresh()
    const [room] = await replicas(db, 1)
    await refresh(room, { refreshToken: await firstToken(room) })
    expect((await db.selectFrom('refresh_tokens').select('successor_salt').execute()).map(({ successor_salt }) => successor_salt)).toEqual([
      null,
      null,
    ])
  })

  test('the predecessor is accepted only while its successor is unused and within the time, and no older token ever', async () => {
    const [one, two] = await graced(await fresh())
    const first = await firstToken(one)
    const { refreshToken: second } = await refresh(one, { refreshToken: first })
    await one.clock.advance(29_000)
    expect(await codeOf(two, first)).toBe('ok')
    await one.clock.advance(2000)
    expect(await codeOf(two, first)).toBe('REFRESH_TOKEN_REUSED')
    expect(await codeOf(two, second)).toBe('REFRESH_TOKEN_INVALID')

    const other = await firstToken(one)
    const { refreshToken: child } = await refresh(one, { refreshToken: other })
    await refresh(one, { refreshToken: child })
    expect(await codeOf(two, other)).toBe('REFRESH_TOKEN_REUSED')
  })
})

// Whatever replicas do to the tokens of one family, and however it interleaves:
// a token gets through at most once, a used one never does, and once one was used twice nothing of the family gets through any more.
onBothDialects('any interleaving of refreshes over replicas', (fresh, dialect) => {
  const move = fc.record({ replica: fc.nat(2), which: fc.nat(4) })
  const rounds = fc.array(fc.array(move, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 })

  test('follows the rules', async () => {
    const db = await fresh()
    await fc.assert(
      fc.asyncProperty(rounds, async (plan) => {
        await emptied(db)
        const all = await replicas(db, 3)
        const tokens = [await firstToken(all[0])]
        const won = new Map<string, number>()
        const tried = new Set<string>()
        let over = false
        for (const round of plan) {
          // The requests of a round are sent at once; their tokens are fixed before any response.
          const moves = round.map(({ replica, which }) => ({
            room: all[replica] as SessionsWorld,
            token: tokens.at(-1 - (which % tokens.length)) as string,
          }))
          const usedBefore = new Set(tried)
          const answers = await Promise.all(
            moves.map(({ room, token }) =>
              refresh(room, { refreshToken: token }).then(
                ({ refreshToken }) => ({ token, code: 'ok', refreshToken }),
                ({ code }: { code: string }) => ({ token, code, refreshToken: undefined }),
              ),
            ),
          )
          const overBefore = over
          for (const { token, code, refreshToken } of answers) {
            if (code === 'ok') {
              won.set(token, (won.get(token) ?? 0) + 1)
              expect([overBefore, usedBefore.has(token)]).toEqual([false, false])
            } else expect(['REFRESH_TOKEN_REUSED', 'REFRESH_TOKEN_INVALID']).toContain(code)
            if (code === 'REFRESH_TOKEN_REUSED') over = true
            if (refreshToken) {
              tokens.push(refreshToken)
              tried.add(token)
            }
          }
          expect(Math.max(0, ...won.values())).toBeLessThanOrEqual(1)
          const repeated = moves.some(({ token }, n) => usedBefore.has(token) || moves.findIndex((other) => other.token === token) !== n)
          if (repeated && answers.some(({ token }) => tried.has(token)) && !overBefore) expect(over).toBe(true)
          const ended = await db.selectFrom('sessions').select('ended_by').executeTakeFirstOrThrow()
          expect(ended.ended_by).toBe(over ? 'reuse' : null)
        }
        for (const room of rooms.splice(0)) room.stop()
      }),
      { numRuns: dialect === 'sqlite' ? 40 : 15 },
    )
  })
})
