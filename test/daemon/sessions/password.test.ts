import { afterEach, expect, test } from 'vitest'
import type { Db } from '../../../src/daemon/db/index.ts'
import { changePassword } from '../../../src/daemon/sessions/change-password.ts'
import { logout, revokeOwnSession, revokeUserSession } from '../../../src/daemon/sessions/end-sessions.ts'
import { endUserSessions } from '../../../src/daemon/sessions/index.ts'
import { listOwnSessions, listUserSessions } from '../../../src/daemon/sessions/list-sessions.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aChatUser, aPassword, aSessionsWorld, logIn, outcomeOf, type SessionsWorld, twoTenants } from '../../support/sessions-world.ts'

const rooms: SessionsWorld[] = []
afterEach(() => {
  for (const room of rooms.splice(0)) room.stop()
})

async function anna(db: Db) {
  const servers = await twoTenants(db)
  await aChatUser(servers.ten_one)
  await aChatUser(servers.ten_one, 'ben')
  await aChatUser(servers.ten_two)
  const room = await aSessionsWorld(db, servers)
  rooms.push(room)
  const login = await logIn(room)
  return { room, chat: servers.ten_one, login, actor: await room.authenticate(`Bearer ${login.token}`) }
}

const whole = { limit: 50 }
const open = { ...whole, ended: false }

const operator = { kind: 'admin', accountId: 'acc_1', name: 'olga', role: 'operator', sessionId: 'ses_a' } as const

onBothDialects('change-password', (fresh) => {
  const change = (currentPassword: string, newPassword = 'another long password', address = '192.0.2.1') => ({
    currentPassword,
    newPassword,
    address,
  })

  test('the new password is valid and the old one is not; sessions, chat tokens and devices stay, and the check leaves no device', async () => {
    const db = await fresh()
    const { room, chat, actor, login } = await anna(db)
    const tokens = [...chat.tokens.keys()]
    await changePassword(room, actor, change(aPassword))
    expect([...chat.tokens.keys()]).toEqual(tokens)
    expect(await room.authenticate(`Bearer ${login.token}`)).toEqual(actor)
    expect(await outcomeOf(room.clock, () => logIn(room))).toBe('LOGIN_FAILED')
    expect((await logIn(room, { password: 'another long password' })).matrixUserId).toBe('@anna:chat.one.example')
    expect(
      await db
        .selectFrom('audit')
        .select(['actor', 'action', 'subject'])
        .where('action', 'in', ['user.password-changed', 'user-session.revoked'])
        .execute(),
    ).toEqual([{ actor: 'user:@anna:chat.one.example', action: 'user.password-changed', subject: 'one/anna' }])
  })

  test('a wrong current password is 401 at one second, counts as a failed login, and locks logins too', async () => {
    const { room, chat, actor } = await anna(await fresh())
    const began = room.clock.monotonicMs()
    expect(await outcomeOf(room.clock, () => changePassword(room, actor, change('wrong')))).toBe('WRONG_PASSWORD')
    expect(room.clock.monotonicMs() - began).toBe(1000)
    for (let n = 0; n < 4; n++)
      expect(await outcomeOf(room.clock, () => changePassword(room, actor, change('wrong')))).toBe('WRONG_PASSWORD')
    for (let n = 0; n < 5; n++) expect(await outcomeOf(room.clock, () => logIn(room, { password: 'wrong' }))).toBe('LOGIN_FAILED')
    expect(await outcomeOf(room.clock, () => logIn(room))).toBe('ACCOUNT_LOCKED')
    expect(await outcomeOf(room.clock, () => changePassword(room, actor, change(aPassword)))).toBe('ACCOUNT_LOCKED')
    expect(chat.users.get('anna')?.password).toBe(aPassword)
  })

  test('an unreachable chat server is 503, and nothing is counted or left behind', async () => {
    const db = await fresh()
    const { room, chat, actor } = await anna(db)
    const tokens = chat.tokens.size
    chat.fail({ kind: 'fenced', retryAfterSeconds: 10, reason: 'it is being updated' })
    await expect(changePassword(room, actor, change(aPassword))).rejects.toMatchObject({
      code: 'HOMESERVER_UNREACHABLE',
      retryAfterSeconds: 10,
    })
    chat.fail(undefined)
    expect(chat.tokens.size).toBe(tokens)
    expect(await db.selectFrom('user_login_failures').select(['failures', 'pending']).execute()).not.toContainEqual(
      expect.objectContaining({ failures: 1 }),
    )
  })

  test('a password that the chat server rejects is 400 and names the field', async () => {
    const { room, chat, actor } = await anna(await fresh())
    const refusing = { ...chat, changePassword: async () => ({ kind: 'refused', reason: 'too weak' }) as const }
    const deps = { ...room, homeservers: { of: () => refusing } }
    await expect(changePassword(deps, actor, change(aPassword))).rejects.toMatchObject({
      code: 'VALIDATION',
      status: 400,
      details: [{ path: 'newPassword', reason: 'too weak' }],
    })
  })

  test('a caller whose session ends during the check changes nothing', async () => {
    const { room, chat, actor } = await anna(await fresh())
    chat.during(() =>
      logout(room, { refreshToken: undefined, authorization: undefined }).then(() =>
        revokeOwnSession(room, actor, { id: actor.sessionId }),
      ),
    )
    await expect(changePassword(room, actor, change(aPassword))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(chat.users.get('anna')?.password).toBe(aPassword)
  })
})

onBothDialects('logout', (fresh) => {
  test('a logout ends the session but not the chat; unknown tokens, no token, and a second logout succeed', async () => {
    const { room, chat, login } = await anna(await fresh())
    const bearer = `Bearer ${login.token}`
    for (const [refreshToken, authorization] of [
      [undefined, undefined],
      ['tnr_unknown', 'Bearer nonsense'],
      ['', 'Bearer a.b.c'],
    ] as const) {
      await logout(room, { refreshToken, authorization })
      expect(await room.authenticate(bearer)).toMatchObject({ tenantSlug: 'one' })
    }
    for (let n = 0; n < 2; n++) await logout(room, { refreshToken: login.refreshToken, authorization: bearer })
    await expect(room.authenticate(bearer)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(chat.tokens.has(login.matrixAccessToken)).toBe(true)
  })

  test('two devices that log each other out concurrently do not deadlock', async () => {
    const db = await fresh()
    const { room } = await anna(db)
    for (let n = 0; n < 20; n++) {
      const [one, two] = [await logIn(room), await logIn(room)]
      const both = (here: typeof one, there: typeof one) =>
        logout(room, { refreshToken: here.refreshToken, authorization: `Bearer ${there.token}` })
      await Promise.all([both(one, two), both(two, one)])
      for (const { token } of [one, two])
        await expect(room.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    }
    expect(await db.selectFrom('revocations').select('seq').where('kind', '!=', 'tenant').execute()).toHaveLength(40)
  })
})

onBothDialects('sessions', (fresh) => {
  test('a user lists and ends its own sessions, and no others', async () => {
    const { room, actor } = await anna(await fresh())
    await room.clock.advance(1)
    await logIn(room, { deviceName: 'Tablet', address: '2001:db8::1' })
    await logIn(room, { username: 'ben' })
    await logIn(room, { tenant: 'two' })
    const { sessions } = await listOwnSessions(room, actor, whole)
    expect(sessions.map(({ deviceName, network, current }) => [deviceName, network, current])).toEqual([
      ['Tablet', '2001:db8:0:0::/56', false],
      ['Platform login', '192.0.2.0/24', true],
    ])
    const ben = (await listUserSessions(room, { slug: 'one', user: 'ben', ...open })).sessions[0]
    await expect(revokeOwnSession(room, actor, { id: ben?.id as string })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await revokeOwnSession(room, actor, { id: sessions[0]?.id as string })
    expect((await listOwnSessions(room, actor, whole)).sessions).toHaveLength(1)
    await expect(revokeOwnSession(room, actor, { id: sessions[0]?.id as string })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('operators list and end the sessions of a user of the named tenant, and that is audited', async () => {
    const db = await fresh()
    const { room, actor, login } = await anna(db)
    expect((await listUserSessions(room, { slug: 'one', user: 'ANNA', ...open })).sessions).toMatchObject([
      { id: actor.sessionId, user: 'anna' },
    ])
    for (const of of [
      { slug: 'nowhere', user: 'anna' },
      { slug: 'two', user: 'ben' },
    ])
      await expect(listUserSessions(room, { ...of, ...open })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(revokeUserSession(room, operator, { slug: 'two', id: actor.sessionId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await revokeUserSession(room, operator, { slug: 'one', id: actor.sessionId })
    await expect(room.authenticate(`Bearer ${login.token}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(
      await db
        .selectFrom('audit')
        .select(['actor', 'action', 'subject', 'data'])
        .where('action', 'in', ['user.password-changed', 'user-session.revoked'])
        .execute(),
    ).toEqual([
      { actor: 'admin:olga', action: 'user-session.revoked', subject: 'one/anna', data: JSON.stringify({ session: actor.sessionId }) },
    ])
  })

  test('sessions are listed in pages, newest first, and ended ones have a reason', async () => {
    const { room, actor } = await anna(await fresh())
    for (let n = 0; n < 6; n++) {
      if (n % 2) await room.clock.advance(1)
      await logIn(room, { deviceName: `Device ${n}` })
    }
    const ids: string[] = []
    for (let cursor: string | undefined, first = true; first || cursor; first = false) {
      const page = await listUserSessions(room, { slug: 'one', user: 'anna', ended: false, limit: 3, cursor })
      ids.push(...page.sessions.map(({ id }) => id))
      expect(page.most).toBe(100)
      cursor = page.nextCursor ?? undefined
    }
    const all = await listOwnSessions(room, actor, { limit: 200 })
    expect(ids).toEqual(all.sessions.map(({ id }) => id))
    expect(new Set(ids).size).toBe(7)
    await revokeUserSession(room, operator, { slug: 'one', id: ids[2] as string })
    const { sessions } = await listUserSessions(room, { slug: 'one', user: 'anna', ended: true, limit: 50 })
    expect(sessions.map(({ id, endedBy }) => [id, endedBy])).toEqual([[ids[2], 'admin']])
    await expect(listOwnSessions(room, actor, { limit: 3, cursor: 'x' })).rejects.toMatchObject({ code: 'VALIDATION' })
  })

  test('a user who logs out everywhere while being disabled is locked out without a deadlock', async () => {
    const db = await fresh()
    const { room, login } = await anna(db)
    const others = [login]
    for (let n = 0; n < 5; n++) others.push(await logIn(room))
    const { user_id } = await db.selectFrom('sessions').select('user_id').executeTakeFirstOrThrow()
    await Promise.all([
      ...others.map(({ refreshToken, token }, n) =>
        logout(room, { refreshToken, authorization: `Bearer ${others[others.length - 1 - n]?.token ?? token}` }),
      ),
      db.transaction().execute((tx) => endUserSessions(tx, room.clock, { userId: user_id, by: 'disabled' })),
    ])
    expect(await db.selectFrom('sessions').select('id').where('ended_at', 'is', null).execute()).toEqual([])
  })
})
