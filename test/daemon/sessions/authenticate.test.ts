import { afterEach, expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { openSigningKeys, publishRevocation, rotateSigningKeys } from '../../../src/daemon/auth/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { logout, revokeOwnSession } from '../../../src/daemon/sessions/end-sessions.ts'
import { authenticateUser, endUserSessions } from '../../../src/daemon/sessions/index.ts'
import { refresh } from '../../../src/daemon/sessions/tokens.ts'
import { aKeyring } from '../../support/admin-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aChatUser, aPassword, aSessionsWorld, logIn, type SessionsWorld, twoTenants } from '../../support/sessions-world.ts'

const minute = 60_000
const rooms: SessionsWorld[] = []
afterEach(() => {
  for (const room of rooms.splice(0)) room.stop()
})

async function twoReplicas(db: Db) {
  const servers = await twoTenants(db)
  await aChatUser(servers.ten_one)
  await aChatUser(servers.ten_two)
  const here = await aSessionsWorld(db, servers)
  const there = await aSessionsWorld(db, servers, { clock: here.clock })
  rooms.push(here, there)
  return { here, there }
}

const ask = (room: SessionsWorld, token: string) =>
  room.authenticate(`Bearer ${token}`).then(
    () => 'in',
    (error) => (isProblem(error) ? error.code : String(error)),
  )

/** Half a second, in which the other replica reads the revocations; the read itself takes real time. */
async function halfASecond(room: SessionsWorld, position: number) {
  await room.clock.advance(500)
  while (room.revocations.position() < position) await new Promise((turn) => setImmediate(turn))
}

onBothDialects('authentication with a platform token', (fresh) => {
  const endings: Record<string, (room: SessionsWorld, db: Db, login: Awaited<ReturnType<typeof logIn>>) => Promise<unknown>> = {
    logout: (room, _, { refreshToken }) => logout(room, { refreshToken, authorization: undefined }),
    'logout by platform token': (room, _, { token }) => logout(room, { refreshToken: undefined, authorization: `Bearer ${token}` }),
    'a used refresh token': async (room, _, { refreshToken = '' }) => {
      await refresh(room, { refreshToken })
      await refresh(room, { refreshToken }).catch(() => undefined)
    },
    'the user, on another device': async (room, _, { token }) => {
      const principal = await room.authenticate(`Bearer ${token}`)
      await revokeOwnSession(room, principal, { id: principal.sessionId })
    },
    'the user was disabled': (room, db, { token }) =>
      room.authenticate(`Bearer ${token}`).then(({ userId }) =>
        db.transaction().execute(async (tx) => {
          await tx.updateTable('users').set({ status: 'disabled' }).where('id', '=', userId).execute()
          await endUserSessions(tx, room.clock, { userId, by: 'disabled' })
        }),
      ),
    'the tenant was suspended': (room, db) =>
      db.transaction().execute(async (tx) => {
        await tx.updateTable('tenants').set({ status: 'suspended' }).where('id', '=', 'ten_one').execute()
        await publishRevocation(tx, room.clock, { kind: 'tenant', subject: 'ten_one' })
      }),
  }

  test('ending a session invalidates its token on every replica within a second, and no other', async () => {
    const db = await fresh()
    const { here, there } = await twoReplicas(db)
    const other = await logIn(here, { tenant: 'two' })
    for (const [what, end] of Object.entries(endings)) {
      const login = await logIn(here)
      const before = there.revocations.position()
      expect([await ask(here, login.token), await ask(there, login.token)], what).toEqual(['in', 'in'])
      await end(here, db, login)
      await halfASecond(there, before + 1)
      expect(await ask(there, login.token), what).toBe('UNAUTHENTICATED')
      await here.revocations.readNow()
      expect(await ask(here, login.token), what).toBe('UNAUTHENTICATED')
      expect(await ask(there, other.token), what).toBe('in')
      await db.updateTable('users').set({ status: 'active' }).execute()
    }
  })

  test.each([
    [[7, 8], 'UNAUTHENTICATED'],
    [[7, 7], 'in'],
  ] as const)('what was read while the revocations went from %j is kept only if nothing was revoked meanwhile', async (positions, then) => {
    const db = await fresh()
    const { here } = await twoReplicas(db)
    const { token } = await logIn(here)
    const left: number[] = [...positions]
    const revocations = { ...here.revocations, position: () => left.shift() ?? positions[1] }
    const room = { ...here, authenticate: authenticateUser({ ...here, revocations }) }
    expect(await ask(room, token)).toBe('in')
    // The revocation is published while the session is read, and only once.
    await db.updateTable('sessions').set({ ended_at: '2026-01-05T02:00:00.000Z', ended_by: 'logout' }).execute()
    expect(await ask(room, token)).toBe(then)
  })

  test('sessions of a suspended tenant are refused, and continue when it is active again', async () => {
    const db = await fresh()
    const { here } = await twoReplicas(db)
    const { token } = await logIn(here)
    for (const [status, expected] of [
      ['suspended', 'UNAUTHENTICATED'],
      ['active', 'in'],
    ] as const) {
      await db.transaction().execute(async (tx) => {
        await tx.updateTable('tenants').set({ status }).execute()
        await publishRevocation(tx, here.clock, { kind: 'tenant', subject: 'ten_one' })
      })
      await here.revocations.readNow()
      expect(await ask(here, token)).toBe(expected)
    }
  })

  test('that a session has ended needs one read, until its user or tenant changes', async () => {
    const db = await fresh()
    const { here } = await twoReplicas(db)
    for (const kind of ['user', 'tenant'] as const) {
      const { token, refreshToken } = await logIn(here)
      const { userId, tenantId } = await here.authenticate(`Bearer ${token}`)
      await logout(here, { refreshToken, authorization: undefined })
      await here.revocations.readNow()
      expect(await ask(here, token)).toBe('UNAUTHENTICATED')
      // Bypasses the revocations, which never happens: the session is still refused.
      await db.updateTable('sessions').set({ ended_at: null, ended_by: null }).execute()
      expect(await ask(here, token)).toBe('UNAUTHENTICATED')
      const subject = kind === 'user' ? userId : tenantId
      await db.transaction().execute((tx) => publishRevocation(tx, here.clock, { kind, subject }))
      await here.revocations.readNow()
      expect(await ask(here, token)).toBe('in')
    }
  })

  test('new roles take effect within a second, in open sessions too', async () => {
    const db = await fresh()
    const { here, there } = await twoReplicas(db)
    const { token } = await logIn(here)
    const { userId, capabilities } = await there.authenticate(`Bearer ${token}`)
    expect(capabilities).toEqual([])
    const before = there.revocations.position()
    await db.transaction().execute(async (tx) => {
      await tx.updateTable('users').set({ roles: '["head"]' }).execute()
      await publishRevocation(tx, here.clock, { kind: 'user', subject: userId })
    })
    await halfASecond(there, before + 1)
    expect(await there.authenticate(`Bearer ${token}`)).toMatchObject({ roles: ['head'], capabilities: ['manageSpaces', 'manageUsers'] })
  })

  test('cached principals need no read; when revocations cannot be read for a second each call reads, and is 503 without a database', async () => {
    const db = await fresh()
    const { here } = await twoReplicas(db)
    const { token } = await logIn(here)
    expect(await ask(here, token)).toBe('in')
    // Bypasses the revocations, which never happens: the cache still accepts the session.
    await db.updateTable('sessions').set({ ended_at: 'now' }).execute()
    expect(await ask(here, token)).toBe('in')
    here.stop()
    await here.clock.advance(1000)
    expect(await ask(here, token)).toBe('in')
    await here.clock.advance(1)
    expect(await ask(here, token)).toBe('UNAUTHENTICATED')
    await db.destroy()
    expect(await ask(here, token)).toBe('UNAVAILABLE')
  })

  test('keys rotate without a logout: old tokens stay valid for their day on every replica, and new ones are valid at once', async () => {
    const db = await fresh()
    const { here, there } = await twoReplicas(db)
    for (const room of rooms) room.stop()
    const old = await logIn(here)
    await rotateSigningKeys({ ...here, keyring: aKeyring() }, 'platform', { force: true })
    await here.clock.advance(11 * minute)
    const renewed = await logIn(here)
    const kid = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()).kid
    expect(kid(renewed.token)).not.toBe(kid(old.token))
    for (const token of [old.token, renewed.token]) expect([await ask(here, token), await ask(there, token)]).toEqual(['in', 'in'])
    await here.clock.advance(23 * 60 * minute)
    expect(await ask(there, old.token)).toBe('in')
    await here.clock.advance(60 * minute)
    expect(await ask(there, old.token)).toBe('UNAUTHENTICATED')
  })

  test('the token contains user, tenant, session and audience, and nothing else', async () => {
    const { here } = await twoReplicas(await fresh())
    const { token } = await logIn(here)
    const part = (n: number) => JSON.parse(Buffer.from(token.split('.')[n] as string, 'base64url').toString())
    const now = Math.floor(here.clock.now().getTime() / 1000)
    expect(part(0)).toEqual({ alg: 'ES256', typ: 'JWT', kid: expect.any(String) })
    expect(part(1)).toEqual({
      sub: '@anna:chat.one.example',
      tid: 'ten_one',
      fam: expect.stringMatching(/^ses_/),
      aud: 'platform',
      iat: now,
      exp: now + 86_400,
    })
  })

  test('invalid tokens are refused: chat tokens with a code of their own, tokens of other audiences, users and tenants', async () => {
    const db = await fresh()
    const { here } = await twoReplicas(db)
    const login = await logIn(here)
    const { sessionId } = await here.authenticate(`Bearer ${login.token}`)
    const keyDeps = { ...here, keyring: aKeyring() }
    const admin = await openSigningKeys(keyDeps, 'admin')
    const signed = (claims: { sub: string; tid: string; fam: string }) => here.keys.sign(claims, minute).then(({ token }) => token)
    const right = { sub: '@anna:chat.one.example', tid: 'ten_one', fam: sessionId }
    expect(await ask(here, await signed(right))).toBe('in')
    const attempts: Record<string, [string, string]> = {
      'the chat token of the login': [login.matrixAccessToken, 'INVALID_MATRIX_TOKEN'],
      'a token of a chat’s authentication service': ['mat_0123456789', 'INVALID_MATRIX_TOKEN'],
      'a refresh token': [login.refreshToken as string, 'UNAUTHENTICATED'],
      'an API token': [`tnt_${'x'.repeat(43)}`, 'UNAUTHENTICATED'],
      'an admin’s token': [(await admin.sign({ sub: right.sub, sid: sessionId }, minute)).token, 'UNAUTHENTICATED'],
      'another user': [await signed({ ...right, sub: '@eve:chat.one.example' }), 'UNAUTHENTICATED'],
      'another tenant': [await signed({ ...right, tid: 'ten_two' }), 'UNAUTHENTICATED'],
      'an unknown session': [await signed({ ...right, fam: 'ses_unknown' }), 'UNAUTHENTICATED'],
    }
    for (const [what, [token, code]] of Object.entries(attempts)) expect(await ask(here, token), what).toBe(code)
    await expect(here.authenticate(undefined)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await expect(here.authenticate(`Basic ${aPassword}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await expect(here.authenticate(`Bearer ${login.matrixAccessToken}`)).rejects.toMatchObject({ status: 401, retryable: false })
  })
})
