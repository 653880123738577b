import { afterEach, expect, test, vi } from 'vitest'
import { changeAccountRole, createAccount, disableAccount } from '../../../src/daemon/admin/accounts.ts'
import { adminFeature, authenticateAdmin, cleanExpiredCredentials } from '../../../src/daemon/admin/index.ts'
import { logout, revokeSession } from '../../../src/daemon/admin/sessions.ts'

import { createToken, revokeToken } from '../../../src/daemon/admin/tokens.ts'

import type { Db } from '../../../src/daemon/db/index.ts'
import { type AdminWorld, anAccount, anAdminWorld, aSession } from '../../support/admin-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const rooms: AdminWorld[] = []
const aReplica = async (db: Db, like?: AdminWorld) => {
  const room = await anAdminWorld(db, like ? { clock: like.clock } : {})
  rooms.push(room)
  return room
}
afterEach(() => {
  for (const room of rooms.splice(0)) room.stop()
})

const answer = (room: AdminWorld, authorization: string) =>
  room.authenticate(authorization).then(
    ({ role }) => role as string,
    (error: { code?: string }) => error.code ?? String(error),
  )
const aToken = async (room: AdminWorld, name = 'anna', days = 30) => {
  const { actor } = await aSession(room, name)
  const { token, id } = await createToken(room, actor, { name: `ci-${name}`, role: 'operator', days })
  return { authorization: `Bearer ${token}`, id, actor }
}

onBothDialects('authentication of admins', (fresh) => {
  test('an ended session is refused on another replica within a second', async () => {
    const db = await fresh()
    const one = await aReplica(db)
    const two = await aReplica(db, one)
    await anAccount(one)
    const { actor, authorization } = await aSession(one)
    expect(await answer(two, authorization)).toBe('admin')
    await logout(one, actor)
    expect(await answer(one, authorization)).toBe('UNAUTHENTICATED')
    await one.clock.advance(500)
    await vi.waitFor(async () => expect(await answer(two, authorization)).toBe('UNAUTHENTICATED'), { timeout: 15_000 })
  })

  test('a replica that cannot read the revocations queries the database on each call', async () => {
    const db = await fresh()
    const one = await aReplica(db)
    const two = await aReplica(db, one)
    await anAccount(one)
    const { actor, authorization } = await aSession(one)
    expect(await answer(two, authorization)).toBe('admin')
    two.stop()
    await one.clock.advance(1001)
    await revokeSession(one, actor, { id: actor.sessionId })
    expect(await answer(two, authorization)).toBe('UNAUTHENTICATED')
  })

  test.each([
    [[7, 8], 'viewer'],
    [[7, 7], 'admin'],
  ] as const)('an account read while the revocations went from %j is cached only if none was added meanwhile', async (positions, then) => {
    const db = await fresh()
    const one = await aReplica(db)
    await anAccount(one)
    const { authorization } = await aSession(one)
    const left: number[] = [...positions]
    const revocations = { ...one.revocations, position: () => left.shift() ?? positions[1] }
    const room = { ...one, authenticate: authenticateAdmin({ ...one, revocations }) }
    expect(await answer(room, authorization)).toBe('admin')
    // The revocation was published while the account was read, and only once.
    await db.updateTable('admin_accounts').set({ role: 'viewer' }).execute()
    expect(await answer(room, authorization)).toBe(then)
  })

  test('the role is read from the record: a demoted account has the lower one in open sessions and API tokens', async () => {
    const db = await fresh()
    const room = await aReplica(db)
    await anAccount(room, 'keeper')
    const { id } = await anAccount(room)
    const { actor, authorization } = await aToken(room)
    await changeAccountRole(room, actor, { id, role: 'viewer' })
    expect(await answer(room, authorization)).toBe('viewer')
    expect(await answer(room, (await aSession(room)).authorization)).toBe('viewer')
  })

  test('an API token ends with the account that created it', async () => {
    const db = await fresh()
    const room = await aReplica(db)
    await anAccount(room, 'keeper')
    const { id } = await anAccount(room)
    const { authorization, actor } = await aToken(room)
    expect(await room.authenticate(authorization)).toMatchObject({ kind: 'token', role: 'operator', name: 'ci-anna' })
    await disableAccount(room, actor, { id })
    expect(await answer(room, authorization)).toBe('UNAUTHENTICATED')
  })

  test('the last active admin can be neither disabled nor demoted, also not by two concurrent calls', async () => {
    const room = await aReplica(await fresh())
    const [anna, ben] = [await anAccount(room), await anAccount(room, 'ben')]
    const { actor } = await aSession(room)
    const both = await Promise.allSettled([disableAccount(room, actor, { id: anna.id }), disableAccount(room, actor, { id: ben.id })])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const left = both[0]?.status === 'rejected' ? anna.id : ben.id
    await expect(changeAccountRole(room, actor, { id: left, role: 'operator' })).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('an API token is refused once revoked or expired', async () => {
    const room = await aReplica(await fresh())
    await anAccount(room)
    const revoked = await aToken(room)
    await room.authenticate(revoked.authorization)
    await revokeToken(room, revoked.actor, { id: revoked.id })
    expect(await answer(room, revoked.authorization)).toBe('UNAUTHENTICATED')
    const expiring = await aToken(room, 'anna', 1)
    room.stop()
    expect(await answer(room, expiring.authorization)).toBe('operator')
    await room.clock.advance(24 * 60 * 60_000)
    expect(await answer(room, expiring.authorization)).toBe('UNAUTHENTICATED')
  })

  test('a session ends after twelve hours', async () => {
    const room = await aReplica(await fresh())
    await anAccount(room)
    const { authorization } = await aSession(room)
    room.stop()
    await room.clock.advance(12 * 60 * 60_000 - 1000)
    expect(await answer(room, authorization)).toBe('admin')
    await room.clock.advance(1000)
    expect(await answer(room, authorization)).toBe('UNAUTHENTICATED')
  })

  test('a session revoked during its read is not cached', async () => {
    const db = await fresh()
    const room = await aReplica(db)
    await anAccount(room)
    const { actor, authorization } = await aSession(room)
    const other = await aReplica(db, room)
    await Promise.all([answer(other, authorization), logout(room, actor).then(() => other.revocations.readNow())])
    expect(await answer(other, authorization)).toBe('UNAUTHENTICATED')
  })

  test('without a database the response is 503, not 401', async () => {
    const db = await fresh()
    const room = await aReplica(db)
    await anAccount(room)
    const { authorization } = await aSession(room)
    const gone = authenticateAdmin({ ...room, db: db.withSchema('gone') })
    await expect(gone(authorization)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  test.each([undefined, '', 'Basic YTpi', 'Bearer', 'Bearer tnt_short', `Bearer tnt_${'A'.repeat(43)}`, `Bearer ${'x'.repeat(5000)}`])(
    'the credentials %j are refused',
    async (authorization) => {
      const room = await aReplica(await fresh())
      expect(await answer(room, authorization as string)).toBe('UNAUTHENTICATED')
    },
  )

  test('the cleanup deletes expired records only', async () => {
    const db = await fresh()
    const room = await aReplica(db)
    await anAccount(room)
    await createAccount(room, { kind: 'system', name: 'test' }, { name: 'cleo', role: 'viewer' })
    await aToken(room, 'anna', 1)
    room.stop()
    const clean = () => db.transaction().execute((tx) => cleanExpiredCredentials(tx, room.clock))
    expect(await clean()).toEqual({ initialPasswords: 0, apiTokens: 0, sessions: 0 })
    await room.clock.advance(72 * 60 * 60_000)
    expect(await clean()).toEqual({ initialPasswords: 1, apiTokens: 1, sessions: 1 })
    expect(await clean()).toEqual({ initialPasswords: 0, apiTokens: 0, sessions: 0 })
    expect(await db.selectFrom('admin_accounts').selectAll().execute()).toHaveLength(2)
    expect(await db.selectFrom('revocations').selectAll().execute()).toEqual([])
  })

  test('the nightly cleanup reports the number of deleted records', async () => {
    const db = await fresh()
    const room = await aReplica(db)
    await anAccount(room)
    await createAccount(room, { kind: 'system', name: 'test' }, { name: 'cleo', role: 'viewer' })
    await aToken(room, 'anna', 1)
    room.stop()
    await room.clock.advance(72 * 60 * 60_000)
    const [cron] = adminFeature.crons?.({ ...room, deleteEndedInvites: async () => 3 }) ?? []
    const summary = await cron?.run({ signal: new AbortController().signal })
    expect(summary).toBe('deleted 1 initial password, 1 API token, 1 session, 3 enrolment tokens')
  })
})
