import { expect, test } from 'vitest'
import { secret, type UserId } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { putSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { createSpace } from '../../../src/daemon/spaces/change-space.ts'
import { eraseUserRecord, userResyncJobs, userResyncListener } from '../../../src/daemon/users/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { Died, dyingAt } from '../../support/dying.ts'
import { aUsersWorld } from '../../support/users-world.ts'

const acme = { params: { slug: 'acme' } }
const of = (localpart: string) => ({ params: { slug: 'acme', localpart } })
const account = (localpart: string) => `@${localpart}:acme.example`

type Room = Awaited<ReturnType<typeof aUsersWorld>>
type Went = 'tenant-box.restore' | 'tenant-box.update' | 'tenant-box.take_over'

/** The agent reports whether the box has other data than before. */
const answered = ({ db, clock, box }: Room, kind: Went, result: object) =>
  db
    .transaction()
    .execute(async (tx) => userResyncListener({ clock }).resultHandlers?.[kind]?.(tx, { boxId: box.id } as never, result as never))

/** `old` is in the snapshot; the others are newer. */
async function restored(db: Db, later: readonly string[]) {
  const room = await aUsersWorld(db)
  await room.api.createUser({ ...acme, body: { localpart: 'old', displayName: 'Old' } })
  const snapshot = new Map(structuredClone([...room.chat.accounts]))
  for (const localpart of later) await room.api.createUser({ ...acme, body: { localpart, displayName: `Name of ${localpart}` } })
  room.chat.accounts.clear()
  for (const [id, one] of snapshot) room.chat.accounts.set(id, one)
  return room
}

const alertsOf = async (db: Db) =>
  (await db.selectFrom('alerts').select(['kind', 'subject', 'status', 'title', 'command']).orderBy('id').execute()).map(
    ({ kind, subject, status, title, command }) => `${kind} ${subject} ${status}: ${title}: ${command}`,
  )

onBothDialects('after a restore', (fresh) => {
  test('users newer than the snapshot get a new account with an unknown password, and the operator sees who', async () => {
    const later = Array.from({ length: 22 }, (_, n) => `later${n + 10}`)
    const room = await restored(await fresh(), later)
    const { api, chat, work, db } = room
    const before = chat.accounts.get(account('old'))?.password
    await answered(room, 'tenant-box.restore', { outcome: 'restored' })
    await work()
    expect(chat.accounts.get(account('old'))?.password).toBe(before)
    for (const localpart of later) expect(chat.accounts.get(account(localpart))?.displayName).toBe(`Name of ${localpart}`)
    expect(new Set(later.map((localpart) => chat.accounts.get(account(localpart))?.password)).size).toBe(later.length)
    const marked = await api.listUsers({ ...acme, query: { limit: 200, withoutPassword: 'true' } })
    expect(marked.users.map(({ localpart }) => localpart)).toEqual(later)
    expect((await api.showUser(of('old'))).passwordUnknownSince).toBeNull()
    expect(await alertsOf(db)).toEqual([
      'passwords_lost acme open: 22 users of acme cannot log in after a restore: tenantry users list acme --without-password',
    ])
    const audit = await db.selectFrom('audit').select('actor').where('action', '=', 'user.remade').execute()
    expect(audit).toEqual(later.map(() => ({ actor: 'system:restore' })))
    expect(await db.selectFrom('jobs').selectAll().execute()).toEqual([])
  })

  test('users missing in the chat are added to the rooms of their spaces as soon as they have an account again', async () => {
    const room = await restored(await fresh(), ['anna', 'ben'])
    const { api, chat, work, tenantId } = room
    const old = await api.showUser(of('old'))
    const known = {
      kind: 'user',
      userId: old.id as UserId,
      matrixUserId: old.matrixUserId,
      roles: ['member'],
      capabilities: ['manageSpaces'],
    } as const
    const owner = { ...known, tenantId, tenantSlug: 'acme', sessionId: 'ses_1' }
    const { id: spaceId } = await createSpace(room, owner, { name: '4b', type: 'CLASSROOM', visibility: 'PRIVATE' })
    for (const localpart of ['anna', 'ben'])
      await putSpaceMember(room, owner, { spaceId, userId: (await api.showUser(of(localpart))).id, role: 'member' })
    await work()
    const inRooms = () => chat.rooms.ids().map((id) => chat.rooms.joined(id).toSorted())
    expect(inRooms()).toEqual([[account('old')], [account('old')]])
    expect(await api.resetUserPassword({ ...of('ben'), body: {} })).toMatchObject({ chat: 'created' })
    await work()
    expect(inRooms()).toEqual([
      [account('ben'), account('old')],
      [account('ben'), account('old')],
    ])
    await answered(room, 'tenant-box.restore', { outcome: 'restored' })
    await work()
    expect(inRooms()[0]).toEqual([account('anna'), account('ben'), account('old')])
    expect(inRooms()[1]).toEqual(inRooms()[0])
  })

  test('names are synced again, and so are the locks of recreated accounts', async () => {
    const room = await restored(await fresh(), ['anna'])
    const { api, chat, work } = room
    await api.changeUser({ ...of('old'), body: { displayName: 'New name' } })
    await api.disableUser({ ...of('anna'), body: { reason: 'left' } })
    await work()
    Object.assign(chat.accounts.get(account('old')) ?? {}, { displayName: 'Old' })
    await answered(room, 'tenant-box.take_over', { outcome: 'restored' })
    await work()
    expect([chat.accounts.get(account('old'))?.displayName, chat.accounts.get(account('anna'))?.locked]).toEqual(['New name', true])
  })

  test.each([
    ['tenant-box.restore', { outcome: 'failed' }, false],
    ['tenant-box.restore', { outcome: 'restored' }, true],
    ['tenant-box.update', { rolledBack: false }, false],
    ['tenant-box.update', { rolledBack: true }, true],
    ['tenant-box.take_over', { outcome: 'failed' }, false],
    ['tenant-box.take_over', { outcome: 'restored' }, true],
  ] as const)('%s with %j recreates missing accounts: %s', async (kind, result, isMade) => {
    const room = await restored(await fresh(), ['anna'])
    await answered(room, kind, result)
    await room.work()
    expect(room.chat.accounts.has(account('anna'))).toBe(isMade)
  })

  test('an unreachable chat server delays the resync, and no user is skipped', async () => {
    const room = await restored(await fresh(), ['anna'])
    const { chat, work, clock } = room
    chat.state.fence = true
    await answered(room, 'tenant-box.restore', { outcome: 'restored' })
    for (let n = 0; n < 20; n++) {
      await work()
      await clock.advance(10 * 60_000)
    }
    expect(chat.accounts.has(account('anna'))).toBe(false)
    chat.state.fence = false
    await clock.advance(10 * 60_000)
    await work()
    expect(chat.accounts.has(account('anna'))).toBe(true)
  })

  test.each([
    [1, 'before'],
    [1, 'after'],
    [2, 'before'],
    [2, 'after'],
    [3, 'before'],
    [3, 'after'],
  ] as const)(
    'killed at transaction %i, %s the commit: the next run finishes, and all recreated accounts are marked',
    async (nth, when) => {
      const room = await restored(await fresh(), ['anna', 'ben'])
      const { db, chat, api, tenantId } = room
      const handler = (over: Db) => userResyncJobs({ ...room, db: over })['chat.users-again']
      const dying = dyingAt(db, nth, when)
      await expect(handler(dying.db)?.({ tenantId, after: '' }, { last: false })).rejects.toBeInstanceOf(Died)
      await handler(db)?.({ tenantId, after: '' }, { last: false })
      expect(['anna', 'ben'].map((localpart) => chat.accounts.has(account(localpart)))).toEqual([true, true])
      const marked = await api.listUsers({ ...acme, query: { withoutPassword: 'true' } })
      expect(marked.users.map(({ localpart }) => localpart)).toEqual(['anna', 'ben'])
      expect((await db.selectFrom('audit').select('subject').where('action', '=', 'user.remade').execute()).length).toBe(2)
    },
  )

  test('a user that the chat server rejects does not block the others, and an alert names it', async () => {
    const room = await restored(await fresh(), ['anna'])
    const { db, chat, work, tenantId } = room
    const row = await db.selectFrom('users').selectAll().where('localpart', '=', 'anna').executeTakeFirstOrThrow()
    await db
      .insertInto('users')
      .values({ ...row, id: 'usr_bridge', localpart: '_bridge', tenant_id: tenantId })
      .execute()
    await answered(room, 'tenant-box.restore', { outcome: 'restored' })
    await work()
    expect(chat.accounts.has(account('anna'))).toBe(true)
    expect((await alertsOf(db))[0]).toBe(
      'chat_refused acme/_bridge open: The chat server of acme refuses the account of _bridge: tenantry users reset-password acme _bridge',
    )
  })
})

onBothDialects('a chat server that refuses', (fresh) => {
  test('a refused lock raises an alert naming tenant and user at once, is retried, and the alert closes once it is accepted', async () => {
    const { api, chat, work, db, clock } = await aUsersWorld(await fresh())
    await api.createUser({ ...acme, body: { localpart: 'anna' } })
    await api.disableUser({ ...of('anna'), body: { reason: 'left' } })
    chat.state.refuse = 'no\u001b[31m such thing'
    await work()
    expect(await alertsOf(db)).toEqual([
      'chat_refused acme/anna open: The chat server of acme refuses the lock of anna: tenantry users disable acme anna --reason again',
    ])
    const { body } = await db.selectFrom('alerts').select('body').executeTakeFirstOrThrow()
    expect(body).toContain('no\ufffd[31m such thing')
    chat.state.refuse = undefined
    await clock.advance(60_000)
    await work()
    expect(chat.accounts.get(account('anna'))?.locked).toBe(true)
    expect((await alertsOf(db))[0]).toContain('acme/anna closed')
  })

  test('a dead-letter lock is sent again when the user is disabled again', async () => {
    const { api, chat, work, db, clock } = await aUsersWorld(await fresh())
    await api.createUser({ ...acme, body: { localpart: 'anna' } })
    await api.disableUser({ ...of('anna'), body: { reason: 'left' } })
    chat.state.refuse = 'no'
    for (let tried = 0; tried < 15; tried++) {
      await work()
      await clock.advance(2 * 3_600_000)
    }
    expect(await db.selectFrom('jobs').select('status').execute()).toEqual([{ status: 'dead' }])
    chat.state.refuse = undefined
    await api.disableUser({ ...of('anna'), body: { reason: 'again' } })
    await work()
    expect(chat.accounts.get(account('anna'))?.locked).toBe(true)
  })
})

onBothDialects('reset-password', (fresh) => {
  test('a generated password is returned once and is valid; sessions end, the login lock is lifted, devices stay', async () => {
    const { api, chat, db, homeserver, clock, tenantId } = await aUsersWorld(await fresh())
    const { user, password: first } = await api.createUser({ ...acme, body: { localpart: 'anna' } })
    const device = await homeserver.login({ localpart: 'anna', password: secret(first ?? ''), deviceName: 'phone' })
    const at = clock.now().toISOString()
    const session = { id: 'ses_1', tenant_id: tenantId, user_id: user.id, device_name: 'phone', network: '', created_at: at, used_at: at }
    await db
      .insertInto('sessions')
      .values({ ...session, expires_at: '2100-01-01T00:00:00.000Z', ended_at: null, ended_by: null })
      .execute()
    const answer = await api.resetUserPassword({ ...of('anna'), body: {} })
    expect(answer).toMatchObject({ chat: 'reset', user: { localpart: 'anna' } })
    expect(answer.password).not.toBe(first)
    expect(chat.accounts.get(account('anna'))?.password).toBe(answer.password)
    expect(await db.selectFrom('sessions').select('ended_by').execute()).toEqual([{ ended_by: 'reset' }])
    expect(await db.selectFrom('revocations').select(['kind', 'subject']).where('kind', '!=', 'tenant').execute()).toEqual([
      { kind: 'user', subject: user.id },
    ])
    const token = device.kind === 'ok' ? device.accessToken : secret('')
    expect(await homeserver.whoami(token)).toMatchObject({ kind: 'ok' })
    const given = await api.resetUserPassword({ ...of('anna'), body: { password: 'chosen by hand', logOutDevices: true } })
    expect([given.password, chat.accounts.get(account('anna'))?.password]).toEqual([null, 'chosen by hand'])
    expect(await homeserver.whoami(token)).toEqual({ kind: 'unknown_token' })
    const audit = await db.selectFrom('audit').select('data').where('action', '=', 'user.password-reset').orderBy('seq').execute()
    expect(audit).toHaveLength(2)
    expect(JSON.stringify(audit)).not.toContain('chosen by hand')
  })

  test('a user without a chat account gets one, and the alert closes with the last user without a password', async () => {
    const room = await restored(await fresh(), ['anna', 'ben'])
    const { api, chat, work, db } = room
    expect(await api.resetUserPassword({ ...of('anna'), body: { password: 'chosen by hand' } })).toMatchObject({ chat: 'created' })
    expect(chat.accounts.get(account('anna'))?.password).toBe('chosen by hand')
    chat.accounts.delete(account('anna'))
    await answered(room, 'tenant-box.restore', { outcome: 'restored' })
    await work()
    expect((await api.resetUserPassword({ ...of('anna'), body: {} })).user.passwordUnknownSince).toBeNull()
    expect((await alertsOf(db))[0]).toContain('passwords_lost acme open: 2 users')
    await api.resetUserPassword({ ...of('ben'), body: {} })
    expect((await alertsOf(db))[0]).toContain('passwords_lost acme closed')
    expect((await api.listUsers({ ...acme, query: { withoutPassword: 'true' } })).users).toEqual([])
  })

  test('the alert closes with the erasure of the last user without a password, who is listed no more', async () => {
    const room = await restored(await fresh(), ['anna'])
    const { api, work, db } = room
    await answered(room, 'tenant-box.restore', { outcome: 'restored' })
    await work()
    expect((await alertsOf(db))[0]).toContain('passwords_lost acme open: 1 user')
    await db.transaction().execute((tx) => eraseUserRecord(room, tx, { slug: 'acme', localpart: 'anna' }))
    expect((await alertsOf(db))[0]).toContain('passwords_lost acme closed')
    expect((await api.listUsers({ ...acme, query: { withoutPassword: 'true' } })).users).toEqual([])
  })

  test('an unreachable chat server changes nothing, and a missing user is 404', async () => {
    const { api, chat, db } = await aUsersWorld(await fresh())
    await api.createUser({ ...acme, body: { localpart: 'anna' } })
    const before = chat.accounts.get(account('anna'))?.password
    chat.state.fence = true
    await expect(api.resetUserPassword({ ...of('anna'), body: {} })).rejects.toMatchObject({ code: 'HOMESERVER_UNREACHABLE' })
    await expect(api.resetUserPassword({ ...of('nobody'), body: {} })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(api.resetUserPassword({ ...of('anna'), body: { password: 'short' } })).rejects.toMatchObject({ code: 'VALIDATION' })
    expect(chat.accounts.get(account('anna'))?.password).toBe(before)
    expect(await db.selectFrom('audit').select('seq').where('action', '=', 'user.password-reset').execute()).toEqual([])
  })
})
