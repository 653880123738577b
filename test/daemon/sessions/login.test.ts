import { afterEach, expect, test } from 'vitest'
import type { Db } from '../../../src/daemon/db/index.ts'
import { deleteExpiredFailures, deleteExpiredSessions } from '../../../src/daemon/sessions/index.ts'
import { refresh } from '../../../src/daemon/sessions/tokens.ts'
import { resetPassword } from '../../../src/daemon/users/reset-password.ts'
import { onBothDialects } from '../../support/databases.ts'
import {
  aChatUser,
  aPassword,
  aSessionsWorld,
  emptied,
  logIn,
  outcomeOf,
  outcomesOf,
  type SessionsWorld,
  twoTenants,
} from '../../support/sessions-world.ts'

const minute = 60_000
const hour = 60 * minute
const rooms: SessionsWorld[] = []

async function aWorld(db: Db, options: Parameters<typeof aSessionsWorld>[2] = {}) {
  const servers = await twoTenants(db)
  const room = await aSessionsWorld(db, servers, options)
  rooms.push(room)
  await aChatUser(servers.ten_one)
  await aChatUser(servers.ten_two, 'anna', 'another password')
  return { room, servers, chat: servers.ten_one }
}
afterEach(() => {
  for (const room of rooms.splice(0)) room.stop()
})

type Given = Parameters<typeof logIn>[1]
const attempt = (room: SessionsWorld, given: Given = {}) => outcomeOf(room.clock, () => logIn(room, { address: '198.51.100.7', ...given }))
const fail = async (room: SessionsWorld, times: number, given: Given = {}) => {
  for (let n = 0; n < times; n++) expect(await attempt(room, { password: 'wrong', ...given })).toBe('LOGIN_FAILED')
}
/** Advances time without the half-second reads of the revocations. */
const pass = async (room: SessionsWorld, ms: number) => {
  room.stop()
  await room.clock.advance(ms)
}
const counters = (db: Db) => db.selectFrom('user_login_failures').select(['network', 'failures', 'pending']).orderBy('network').execute()

onBothDialects('login', (fresh) => {
  test('a login opens platform and chat, and creates the user with the default role', async () => {
    const { room, chat } = await aWorld(await fresh())
    const answer = await logIn(room, { deviceName: 'Anna’s phone' })
    expect(answer).toEqual({
      token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expiresIn: 86_400,
      matrixAccessToken: 'syt_anna_1',
      matrixUserId: '@anna:chat.one.example',
      homeserver: 'chat.one.example',
      refreshToken: expect.stringMatching(/^tnr_[\w-]{43}$/),
      refreshTokenExpiresAt: new Date(room.clock.now().getTime() + 30 * 24 * hour).toISOString(),
    })
    expect(chat.tokens.get('syt_anna_1')).toEqual({ localpart: 'anna', deviceName: 'Anna’s phone' })
    expect(await room.authenticate(`Bearer ${answer.token}`)).toMatchObject({
      kind: 'user',
      matrixUserId: '@anna:chat.one.example',
      tenantId: 'ten_one',
      tenantSlug: 'one',
      roles: ['member'],
      capabilities: [],
    })
  })

  test.each([true, false])(
    'a platform token lasts a day, also after a slow start of its session (refreshable: %s)',
    async (issueRefreshToken) => {
      const { room } = await aWorld(await fresh())
      let reads = 0
      // A second passes at each reading, as on a slow machine.
      const clock = { ...room.clock, now: () => new Date(room.clock.now().getTime() + 1000 * reads++) }
      expect((await logIn({ ...room, clock }, { issueRefreshToken })).expiresIn).toBe(86_400)
    },
  )

  test('a login with the old password during a reset leaves no session and no device', async () => {
    const db = await fresh()
    const { room, chat } = await aWorld(db)
    await logIn(room)
    await pass(room, minute)
    const operator = { kind: 'admin', accountId: 'acc_1', name: 'olga', role: 'operator', sessionId: 'ses_a' } as const
    const login: typeof chat.login = async (ask) => {
      const proved = await chat.login(ask)
      await resetPassword(room, operator, { slug: 'one', localpart: 'anna', logOutDevices: false })
      return proved
    }
    const late = { ...room, homeservers: { of: () => ({ ...chat, login }) } }
    expect(await outcomeOf(room.clock, () => logIn(late))).toBe('UNAVAILABLE')
    expect(await db.selectFrom('sessions').select('ended_by').execute()).toEqual([{ ended_by: 'reset' }])
    expect([...chat.tokens.keys()]).toEqual(['syt_anna_1'])
    expect(await attempt(room)).toBe('LOGIN_FAILED')
  })

  test('without issueRefreshToken there is no refresh token, and the session ends with its token', async () => {
    const { room } = await aWorld(await fresh())
    const answer = await logIn(room, { issueRefreshToken: false })
    expect(Object.keys(answer)).not.toContain('refreshToken')
    expect(Object.keys(answer)).not.toContain('refreshTokenExpiresAt')
    await pass(room, 24 * hour)
    await expect(room.authenticate(`Bearer ${answer.token}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('a login without chat leaves no device in the chat', async () => {
    const { room, chat } = await aWorld(await fresh())
    const { matrixAccessToken, token } = await logIn(room, { chat: false })
    expect([matrixAccessToken, chat.tokens.size]).toEqual(['', 0])
    expect(await room.authenticate(`Bearer ${token}`)).toMatchObject({ matrixUserId: '@anna:chat.one.example' })
  })

  test('slug, domain and every spelling of a name find the same user', async () => {
    const db = await fresh()
    const { room } = await aWorld(db)
    for (const tenant of ['one', 'ONE', 'chat.one.example', 'Chat.One.Example'])
      for (const username of ['anna', 'ANNA']) expect((await logIn(room, { tenant, username })).matrixUserId).toBe('@anna:chat.one.example')
    expect(await db.selectFrom('users').select(['tenant_id', 'localpart']).execute()).toEqual([{ tenant_id: 'ten_one', localpart: 'anna' }])
  })

  test('two concurrent first logins create one user', async () => {
    const db = await fresh()
    const { room } = await aWorld(db)
    await Promise.all([logIn(room), logIn(room)])
    expect(await db.selectFrom('users').select('localpart').execute()).toHaveLength(1)
    expect(await db.selectFrom('sessions').select('id').execute()).toHaveLength(2)
  })

  test('a user known only to the chat is audited once, as created by itself', async () => {
    const db = await fresh()
    const { room } = await aWorld(db)
    await Promise.all([logIn(room), logIn(room)])
    await logIn(room)
    expect(await db.selectFrom('audit').select(['actor', 'action', 'subject']).where('action', 'like', 'user%').execute()).toEqual([
      { actor: 'user:@anna:chat.one.example', action: 'user.created', subject: 'one/anna' },
    ])
  })

  test('a login to a tenant suspended at that moment creates no user', async () => {
    const db = await fresh()
    const { room, chat } = await aWorld(db)
    chat.during(() => db.updateTable('tenants').set({ status: 'suspended' }).where('slug', '=', 'one').execute())
    expect(await outcomeOf(room.clock, () => logIn(room))).toBe('TENANT_SUSPENDED')
    expect(await db.selectFrom('users').select('localpart').execute()).toEqual([])
    expect(chat.tokens.size).toBe(0)
  })

  test('a login marks an unknown password as known', async () => {
    const db = await fresh()
    const { room } = await aWorld(db)
    await logIn(room)
    await db.updateTable('users').set({ password_unknown_since: '2026-01-01T00:00:00.000Z' }).execute()
    await logIn(room)
    expect(await db.selectFrom('users').select('password_unknown_since').execute()).toEqual([{ password_unknown_since: null }])
  })

  test('a login beyond the session limit ends the least recently used session, and no other', async () => {
    const db = await fresh()
    const { room } = await aWorld(db, { rules: { mostPerUser: 3 } })
    const open: Awaited<ReturnType<typeof logIn>>[] = []
    for (let n = 0; n < 3; n++) {
      open.push(await logIn(room))
      await room.clock.advance(1000)
    }
    await refresh(room, { refreshToken: open[0]?.refreshToken as string })
    await room.clock.advance(1000)
    await logIn(room)
    await room.revocations.readNow()
    const stands = async ({ token }: { token: string }) =>
      room.authenticate(`Bearer ${token}`).then(
        () => true,
        () => false,
      )
    expect(await Promise.all(open.map(stands))).toEqual([true, false, true])
    expect(await db.selectFrom('sessions').select('ended_by').where('ended_at', 'is not', null).execute()).toEqual([
      { ended_by: 'too_many' },
    ])
  })

  test('concurrent logins never leave more sessions open than the limit', async () => {
    const db = await fresh()
    const { room } = await aWorld(db, { rules: { mostPerUser: 3 } })
    await Promise.all(Array.from({ length: 9 }, () => logIn(room)))
    expect(await db.selectFrom('sessions').select('id').where('ended_at', 'is', null).execute()).toHaveLength(3)
  })

  const refusals: Record<string, (world: Awaited<ReturnType<typeof aWorld>>, db: Db) => Promise<Given> | Given> = {
    'unknown tenant': () => ({ tenant: 'nobody' }),
    'unknown user': () => ({ username: 'nobody' }),
    'an invalid name': () => ({ username: 'Anna Müller' }),
    'wrong password': () => ({ password: 'wrong' }),
    'the password of the namesake in another tenant': () => ({ password: 'another password' }),
    'suspended tenant': async (_, db) => {
      await db.updateTable('tenants').set({ status: 'suspended' }).where('slug', '=', 'one').execute()
      return { password: 'wrong' }
    },
    'disabled user of a suspended tenant': async ({ room }, db) => {
      await logIn(room)
      await db.updateTable('users').set({ status: 'disabled' }).execute()
      await db.updateTable('tenants').set({ status: 'suspended' }).where('slug', '=', 'one').execute()
      return {}
    },
    'deleted tenant': async (_, db) => {
      await db.updateTable('tenants').set({ status: 'deleting' }).where('slug', '=', 'one').execute()
      return {}
    },
    'disabled user': async ({ room }, db) => {
      await logIn(room)
      await db.updateTable('users').set({ status: 'disabled' }).execute()
      return {}
    },
    'locked in the chat': ({ chat }) => {
      Object.assign(chat.users.get('anna') as object, { locked: true })
      return {}
    },
    'the platform’s own account': async ({ chat }) => {
      await aChatUser(chat, 'tenantry-probe')
      return { username: 'tenantry-probe' }
    },
    'a chat server that logs somebody else in': ({ chat }) => {
      Object.assign(chat.users.get('anna') as object, { userId: '@eve:chat.one.example' })
      return {}
    },
    'a chat server of another domain': ({ chat }) => {
      Object.assign(chat.users.get('anna') as object, { userId: '@anna:chat.two.example' })
      return {}
    },
  }

  test('every refusal looks like a wrong password, is sent at one second, is counted, and leaves no chat session', async () => {
    const db = await fresh()
    for (const [what, prepare] of Object.entries(refusals)) {
      await emptied(db)
      const world = await aWorld(db)
      const given = await prepare(world, db)
      const before = world.chat.tokens.size
      const began = world.room.clock.monotonicMs()
      const refused = logIn(world.room, { address: '198.51.100.7', ...given }).catch((error) => error)
      expect(await attemptOf(world.room, refused), what).toMatchObject({
        code: 'LOGIN_FAILED',
        status: 401,
        message: 'Tenant, name or password is wrong, or the account cannot be used',
      })
      expect(world.room.clock.monotonicMs() - began, what).toBe(1000)
      expect(world.chat.tokens.size, what).toBe(before)
      expect(await counters(db), what).toContainEqual({ network: '', failures: 1, pending: 0 })
      world.room.stop()
    }
  })

  test.each([
    ['operator', 'owes us 300 euros', /suspended by the operator of the platform/],
    ['plan_ended', 'billing: the subscription of the plan ended', /the subscription of its plan ended; a new subscription lifts it/],
    ['plan_ended', 'owes us 300 euros', /suspended by the operator of the platform/],
  ] as const)('the right password shows that the tenant is suspended (%s: %s), and never these words', async (cause, reason, why) => {
    const db = await fresh()
    const { room, chat } = await aWorld(db)
    const suspended = { status: 'suspended', suspended_cause: cause, suspended_reason: reason } as const
    await db.updateTable('tenants').set(suspended).where('slug', '=', 'one').execute()
    const refused = await attemptOf(
      room,
      logIn(room).catch((error) => error),
    )
    expect(refused).toMatchObject({ code: 'TENANT_SUSPENDED', status: 403, message: expect.stringMatching(why) })
    expect((refused as Error).message).not.toContain('300')
    expect(chat.tokens.size).toBe(0)
    expect(await counters(db)).toEqual([{ network: '', failures: 0, pending: 0 }])
  })

  test('the refusal of a slow chat server is sent at the next full second', async () => {
    const { room, chat } = await aWorld(await fresh())
    for (const [takes, answered] of [
      [300, 1000],
      [1000, 1000],
      [1300, 2000],
      [4950, 5000],
    ] as const) {
      chat.during(() => room.clock.sleep(takes))
      const began = room.clock.monotonicMs()
      await fail(room, 1, { username: `nobody-${takes}` })
      expect(room.clock.monotonicMs() - began).toBe(answered)
    }
  })

  test('after a slow refusal an unknown tenant is refused as late: a slow chat server does not show that its tenant exists', async () => {
    const { room, chat } = await aWorld(await fresh())
    const answeredIn = async (given: Given) => {
      const began = room.clock.monotonicMs()
      await fail(room, 1, given)
      return room.clock.monotonicMs() - began
    }
    expect(await answeredIn({ tenant: 'nowhere' })).toBe(1000)
    chat.during(() => room.clock.sleep(1300))
    expect(await answeredIn({ username: 'nobody' })).toBe(2000)
    chat.during(async () => undefined)
    expect([await answeredIn({ tenant: 'nowhere' }), await answeredIn({ username: 'nobody' })]).toEqual([2000, 2000])
  })

  test('a chat server that is down, fenced or limited is 503 with Retry-After when an unknown tenant is refused, and is not counted', async () => {
    const db = await fresh()
    const { room, chat } = await aWorld(db)
    for (const [kind, retryAfterSeconds] of [
      ['fenced', 7],
      ['limited', 3],
      ['unreachable', 60],
    ] as const) {
      chat.fail({ kind, retryAfterSeconds, reason: 'it is stopped' })
      const began = room.clock.monotonicMs()
      const refused = await attemptOf(
        room,
        logIn(room).catch((error) => error),
      )
      expect(refused).toMatchObject({ code: 'HOMESERVER_UNREACHABLE', status: 503, retryable: true, retryAfterSeconds })
      expect(room.clock.monotonicMs() - began).toBe(1000)
    }
    expect(await counters(db)).toEqual([{ network: '', failures: 0, pending: 0 }])
    const silent: typeof chat.login = async (ask) => {
      await room.clock.sleep(1300)
      return chat.login(ask)
    }
    const slow = { ...room, homeservers: { of: () => ({ ...chat, login: silent }) } }
    expect(await attempt(slow)).toBe('HOMESERVER_UNREACHABLE')
    const began = room.clock.monotonicMs()
    await fail(room, 1, { tenant: 'nowhere' })
    expect(room.clock.monotonicMs() - began).toBe(2000)
    chat.fail(undefined)
    expect(await attempt(room)).toBe('in')
  })

  test('a login that cannot be stored logs out its chat device and is not counted as failed', async () => {
    const db = await fresh()
    const { room, chat } = await aWorld(db)
    await db.schema.alterTable('refresh_tokens').renameTo('elsewhere').execute()
    await expect(logIn(room)).rejects.toThrow()
    expect(chat.tokens.size).toBe(0)
    expect(await db.selectFrom('sessions').selectAll().execute()).toEqual([])
    expect(await counters(db)).not.toContainEqual(expect.objectContaining({ pending: 1 }))
  })

  test('a login whose token cannot be signed leaves no device in the chat', async () => {
    const { room, chat } = await aWorld(await fresh())
    const broken = { ...room, keys: { ...room.keys, sign: () => Promise.reject(new Error('no key')) } }
    await expect(logIn(broken)).rejects.toThrow('no key')
    expect(chat.tokens.size).toBe(0)
  })
})

/** Waits for one refusal. */
async function attemptOf(room: SessionsWorld, refused: Promise<unknown>): Promise<unknown> {
  await outcomeOf(room.clock, () => refused)
  return refused
}

onBothDialects('the lock', (fresh) => {
  const names = [
    ['one', 'anna'],
    ['one', 'nobody'],
    ['nowhere', 'anna'],
  ] as const

  test('of thirty parallel wrong logins ten are checked and counted and the rest are 429, for existing and unknown accounts', async () => {
    const db = await fresh()
    for (const [tenant, username] of names) {
      await emptied(db)
      const { room, chat } = await aWorld(db)
      const wrong = () => logIn(room, { tenant, username, password: 'wrong', address: '198.51.100.7' })
      const codes = await outcomesOf(
        room.clock,
        Array.from({ length: 30 }, () => wrong),
      )
      expect(codes.filter((code) => code === 'LOGIN_FAILED')).toHaveLength(10)
      expect(codes.filter((code) => code === 'ACCOUNT_LOCKED')).toHaveLength(20)
      expect(chat.looked.length).toBe(tenant === 'one' ? 10 : 0)
      expect(await counters(db)).toEqual([{ network: '', failures: 10, pending: 0 }])
      room.stop()
    }
  })

  test('also over two replicas', async () => {
    const db = await fresh()
    const { room, servers, chat } = await aWorld(db)
    const other = await aSessionsWorld(db, servers, { clock: room.clock })
    rooms.push(other)
    const wrong = (one: SessionsWorld) => () => logIn(one, { password: 'wrong' })
    const codes = await outcomesOf(
      room.clock,
      Array.from({ length: 30 }, (_, n) => wrong(n % 2 ? room : other)),
    )
    expect(codes.filter((code) => code === 'LOGIN_FAILED')).toHaveLength(10)
    expect(chat.looked).toHaveLength(10)
  })

  test('a whole class can log in with one account at once', async () => {
    const { room } = await aWorld(await fresh())
    const codes = await outcomesOf(
      room.clock,
      Array.from({ length: 25 }, () => () => logIn(room, { address: '198.51.100.7' })),
    )
    expect(new Set(codes)).toEqual(new Set(['in']))
  })

  test('a locked account refuses the right password without asking the chat server, for 15 minutes that nothing extends', async () => {
    const { room, chat } = await aWorld(await fresh())
    await fail(room, 10)
    const seen = chat.looked.length
    for (const [password, left] of [
      [aPassword, 15 * 60 - 1], // each refusal is held back for a second
      ['wrong', 15 * 60 - 2],
    ] as const) {
      const began = room.clock.monotonicMs()
      const refused = logIn(room, { password, address: '198.51.100.7' }).catch((error) => error)
      expect(await attemptOf(room, refused)).toMatchObject({
        code: 'ACCOUNT_LOCKED',
        status: 429,
        retryAfterSeconds: left,
        message: 'Too many failed logins: the account is locked for up to 15 minutes',
      })
      expect(room.clock.monotonicMs() - began).toBe(1000)
    }
    await pass(room, 15 * minute - 3001)
    expect(await attempt(room, { password: 'wrong' })).toBe('ACCOUNT_LOCKED')
    expect(chat.looked).toHaveLength(seen)
    expect(await attempt(room)).toBe('in')
  })

  test('an unknown name locks alike, response by response', async () => {
    const { room } = await aWorld(await fresh())
    await fail(room, 10, { username: 'nobody' })
    await fail(room, 10, { username: 'anna' })
    const answers = ['nobody', 'anna'].map((username) => logIn(room, { username, address: '198.51.100.7' }).catch((error) => error))
    await outcomesOf(
      room.clock,
      answers.map((answer) => () => answer),
    )
    const [nobody, anna] = await Promise.all(answers)
    expect(nobody.toBody()).toEqual(anna.toBody())
  })

  test('neither the delay of a 429 nor its Retry-After reveals how long the chat server took for the attempts before', async () => {
    const db = await fresh()
    const seen = []
    for (const tenant of ['one', 'nowhere']) {
      await emptied(db)
      const { room, chat } = await aWorld(db)
      chat.during(() => room.clock.sleep(330)) // of one tenant there is none to ask
      const wrong = () => logIn(room, { tenant, password: 'wrong', address: '198.51.100.7' })
      const answers: unknown[] = []
      const locked = (afterMs: number) => async () => {
        await room.clock.sleep(afterMs)
        await wrong().catch((error) => answers.push([error.code, error.retryAfterSeconds, room.clock.monotonicMs()]))
      }
      await outcomesOf(room.clock, [...Array.from({ length: 10 }, () => wrong), locked(100), locked(1150)])
      seen.push(answers)
      room.stop()
    }
    expect(seen[0]).toEqual([
      ['ACCOUNT_LOCKED', 900, 1100],
      ['ACCOUNT_LOCKED', 899, 2150],
    ])
    expect(seen[1]).toEqual(seen[0])
  })

  test('slug, domain and every spelling of a name share one counter; equal names of two tenants do not', async () => {
    const { room } = await aWorld(await fresh())
    await fail(room, 5, { tenant: 'one', username: 'anna' })
    await fail(room, 5, { tenant: 'chat.ONE.example', username: 'ANNA' })
    expect(await attempt(room)).toBe('ACCOUNT_LOCKED')
    expect(await attempt(room, { tenant: 'two', password: 'another password' })).toBe('in')
  })

  test('a success clears the failures, and so do 15 minutes without one', async () => {
    const { room } = await aWorld(await fresh())
    await fail(room, 9)
    expect(await attempt(room)).toBe('in')
    await fail(room, 9, { address: '203.0.113.9' })
    await pass(room, 15 * minute)
    await fail(room, 9, { address: '203.0.113.9' })
    expect(await attempt(room, { address: '203.0.113.9' })).toBe('in')
  })

  test('a stranger cannot lock a user out of a known network, from any address in it', async () => {
    const { room } = await aWorld(await fresh())
    expect(await attempt(room, { address: '192.0.2.1' })).toBe('in')
    expect(await attempt(room, { address: '2001:db8:1:100::1' })).toBe('in')
    await fail(room, 10)
    expect(await attempt(room)).toBe('ACCOUNT_LOCKED')
    expect(await attempt(room, { address: '192.0.2.200' })).toBe('in')
    expect(await attempt(room, { address: '2001:db8:1:1ff::2' })).toBe('in')
    expect(await attempt(room, { address: '192.0.3.1' })).toBe('ACCOUNT_LOCKED')
    expect(await attempt(room, { address: '2001:db8:1:200::1' })).toBe('ACCOUNT_LOCKED')
    expect(await attempt(room)).toBe('ACCOUNT_LOCKED') // the user's success does not lift the strangers' lock
  })

  test('ten failures from a known network lock it and all others', async () => {
    const { room } = await aWorld(await fresh())
    expect(await attempt(room, { address: '192.0.2.1' })).toBe('in')
    await fail(room, 10, { address: '192.0.2.50' })
    expect(await attempt(room, { address: '192.0.2.1' })).toBe('ACCOUNT_LOCKED')
    expect(await attempt(room)).toBe('ACCOUNT_LOCKED')
  })

  test('a network is known for 30 days', async () => {
    const db = await fresh()
    const { room } = await aWorld(db)
    expect(await attempt(room, { address: '192.0.2.1' })).toBe('in')
    await pass(room, 30 * 24 * hour)
    await fail(room, 10)
    expect(await attempt(room, { address: '192.0.2.1' })).toBe('ACCOUNT_LOCKED')
    expect(await deleteExpiredSessions(room)).toBe('0 ended sessions')
    expect(await db.selectFrom('user_login_networks').selectAll().execute()).toEqual([])
  })

  test('counters of unknown names are deleted after they expire', async () => {
    const db = await fresh()
    const { room } = await aWorld(db)
    await fail(room, 1, { username: 'nobody' })
    await fail(room, 10, { username: 'no-one' })
    await pass(room, 15 * minute - 2001)
    await deleteExpiredFailures(room)
    expect(await attempt(room, { username: 'no-one' })).toBe('ACCOUNT_LOCKED')
    expect(await counters(db)).toEqual([{ network: '', failures: 10, pending: 0 }])
    await room.clock.advance(15 * minute)
    await deleteExpiredFailures(room)
    expect(await counters(db)).toEqual([])
  })

  test('attempts of a dead process count as failed after a minute, so that a crash allows no extra guesses', async () => {
    const db = await fresh()
    const { room, chat } = await aWorld(db)
    await fail(room, 4)
    await db.updateTable('user_login_failures').set({ pending: 6 }).execute() // as six killed attempts leave it
    await pass(room, minute)
    const seen = chat.looked.length
    expect(await attempt(room)).toBe('ACCOUNT_LOCKED')
    expect(chat.looked).toHaveLength(seen)
    await room.clock.advance(15 * minute)
    expect(await attempt(room)).toBe('in')
  })

  test('the lock tables contain no names and no passwords', async () => {
    const db = await fresh()
    const { room } = await aWorld(db)
    await fail(room, 1, { username: 'hunter2', password: 'hunter3' })
    expect(JSON.stringify(await db.selectFrom('user_login_failures').selectAll().execute())).not.toMatch(/hunter|one/)
  })

  test('a lock does not affect open sessions', async () => {
    const { room } = await aWorld(await fresh())
    const { token } = await logIn(room)
    await fail(room, 10)
    expect(await room.authenticate(`Bearer ${token}`)).toMatchObject({ tenantSlug: 'one' })
  })
})
