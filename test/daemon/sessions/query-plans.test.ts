import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Capability, isoNow, manualClock, type PlatformPrincipal } from '../../../src/core/kit/index.ts'
import { bootstrapDocuments } from '../../../src/daemon/bootstrap/bootstrap-documents.ts'
import { contactsAfter, findContact } from '../../../src/daemon/contacts/contacts.repo.ts'
import { publishContactEvent } from '../../../src/daemon/contacts/contacts.ts'
import { createFolder, deleteFolder, listFolders } from '../../../src/daemon/files/folders.ts'
import { listFiles } from '../../../src/daemon/files/show-files.ts'
import { nextMaintenance } from '../../../src/daemon/maintenance/index.ts'
import { listOwnSessions, listUserSessions } from '../../../src/daemon/sessions/list-sessions.ts'
import { refresh } from '../../../src/daemon/sessions/tokens.ts'
import { spaceActivity } from '../../../src/daemon/spaces/activity.ts'
import { spacesOf } from '../../../src/daemon/spaces/index.ts'
import { listSpaceMembers, listSpaces } from '../../../src/daemon/spaces/show-spaces.ts'
import { membersOf } from '../../../src/daemon/spaces/spaces.repo.ts'
import { listTenants } from '../../../src/daemon/tenants/show-tenants.ts'
import { acquirePasswordLease, releasePasswordLease } from '../../../src/daemon/users/password-lease.ts'
import { markOutdatedPasswords, recordPasswordSet } from '../../../src/daemon/users/reset-password.ts'
import { existingUser, listUsers } from '../../../src/daemon/users/show-users.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { growRegistry } from '../../support/grown-registry.ts'
import { aChatUser, aSessionsWorld, logIn, roleBook, type SessionsWorld, twoTenants } from '../../support/sessions-world.ts'
import { type Overheard, overhear, wholeReadsOf } from '../../support/whole-reads.ts'

// With a million users one statement without an index blocks every login. Every statement of these paths is explained in a
// registry where the planner prefers an index.

const windows = { timeZone: 'UTC', windows: { free: null, pro: null, enterprise: null } }
const limit = 50

describe.each(['sqlite', 'postgres'] as const)('on %s', (dialect) => {
  let overheard: Overheard
  let room: SessionsWorld
  const clock = manualClock()

  beforeAll(async () => {
    const { db } = await emptyDatabase(dialect)
    const servers = await twoTenants(db)
    await aChatUser(servers.ten_one)
    await growRegistry(db, dialect)
    overheard = overhear(db, dialect)
    room = await aSessionsWorld(overheard.db, servers)
    await logIn(room)
    return async () => {
      room.stop()
      await db.destroy()
    }
  })

  const wholeReads = (work: () => Promise<unknown>) => wholeReadsOf(overheard, work)
  const callerOf = async () => room.authenticate(`Bearer ${(await logIn(room)).token}`)
  /** A user of the grown tenants, in a space of theirs. */
  const member = (capabilities: readonly Capability[] = []) =>
    ({ kind: 'user', tenantId: 'tenants_1', userId: 'users_1', roles: ['member'], capabilities }) as unknown as PlatformPrincipal
  const inTransaction = (work: Parameters<ReturnType<Overheard['db']['transaction']>['execute']>[0]) =>
    overheard.db.transaction().execute(work)

  test('a login scans no table, by slug, by domain, right or unknown', async () => {
    expect(await wholeReads(() => logIn(room))).toEqual([])
    expect(await wholeReads(() => logIn(room, { tenant: 'chat.one.example' }))).toEqual([])
  })

  test('a refresh and the first call of a session scan no table', async () => {
    const { refreshToken } = (await logIn(room)) as { refreshToken: string }
    expect(await wholeReads(() => refresh(room, { refreshToken }))).toEqual([])
    expect(await wholeReads(() => refresh(room, { refreshToken }).catch(() => undefined))).toEqual([]) // reuse
    const { token } = await logIn(room)
    expect(await wholeReads(() => room.authenticate(`Bearer ${token}`))).toEqual([])
  })

  test('a bootstrap document and its validity check scan no table', async () => {
    const caller = await callerOf()
    const documentOf = bootstrapDocuments({ ...room, spacesOf, modulesOf: async () => [], nextMaintenance } as never)
    expect(await wholeReads(() => documentOf(caller))).toEqual([])
    expect(await wholeReads(() => documentOf(caller))).toEqual([])
  })

  test('lists of users and sessions scan no table, on any page', async () => {
    const caller = await callerOf()
    const deps = { ...room, windows }
    expect(await wholeReads(() => listUsers(deps, { slug: 'one', limit }))).toEqual([])
    expect(await wholeReads(() => listUsers(deps, { slug: 'one', status: 'active', cursor: 'a', limit }))).toEqual([])
    expect(await wholeReads(() => listUsers(deps, { slug: 'one', withoutPassword: true, limit }))).toEqual([])
    expect(await wholeReads(() => listUsers(deps, { slug: 'one', oldPassword: true, limit }))).toEqual([])
    expect(await wholeReads(() => existingUser(room.db, { slug: 'one', localpart: 'anna' }))).toEqual([])
    expect(await wholeReads(() => listOwnSessions(deps, caller, { limit }))).toEqual([])
    expect(await wholeReads(() => listUserSessions(deps, { slug: 'one', user: 'anna', ended: false, limit }))).toEqual([])
  })

  test('a later page of tenants scans no table', async () => {
    expect(await wholeReads(() => listTenants({ ...room, windows }, { cursor: 'a', limit }))).toEqual([])
  })

  test('contacts, their search and their events scan no table, for any viewer', async () => {
    const { db } = room
    for (const visibility of [{ roles: ['nurse'] }, 'everyone'] as const) {
      const onlooker = { tenantId: 'tenants_1', userId: 'users_1', visibility }
      expect(await wholeReads(() => contactsAfter(db, onlooker, { limit }))).toEqual([])
      expect(await wholeReads(() => contactsAfter(db, onlooker, { search: 'b', after: { name: 'a', id: 'users_1' }, limit }))).toEqual([])
      expect(await wholeReads(() => findContact(db, onlooker, 'users_1'))).toEqual([])
    }
    const user = { id: 'users_1', tenantId: 'tenants_1' }
    const tell = () =>
      inTransaction((tx) => publishContactEvent(tx, { clock, roles: roleBook }, { type: 'user.disabled', user, roles: ['member'] }))
    expect(await wholeReads(tell)).toEqual([])
    expect(await wholeReads(() => membersOf(db, ['spaces_1', 'spaces_2']))).toEqual([])
  })

  test('spaces, members, folders, files and activity scan no table', async () => {
    const deps = { db: room.db, clock, random: systemRandom }
    const [actor, inSpace] = [member(), { spaceId: 'spaces_1', limit }]
    expect(await wholeReads(() => listSpaces(deps, actor, { limit }))).toEqual([])
    expect(await wholeReads(() => listSpaces(deps, member(['manageSpaces']), { cursor: 'spaces_0', limit }))).toEqual([])
    expect(await wholeReads(() => listSpaceMembers(deps, actor, inSpace))).toEqual([])
    expect(await wholeReads(() => spaceActivity(deps, actor, inSpace))).toEqual([])
    expect(await wholeReads(() => spaceActivity(deps, actor, { ...inSpace, cursor: '7' }))).toEqual([])
    expect(await wholeReads(() => listFolders(deps, actor, inSpace))).toEqual([])
    expect(await wholeReads(() => listFolders(deps, actor, { ...inSpace, cursor: 'a' }))).toEqual([])
    expect(await wholeReads(() => listFiles(deps, actor, { ...inSpace, state: 'ready' } as never))).toEqual([])
    const once = async () => {
      const { id: folderId } = await createFolder(deps, actor, { spaceId: 'spaces_1', name: 'Trips' })
      await deleteFolder(deps, actor, { spaceId: 'spaces_1', folderId })
    }
    expect(await wholeReads(once)).toEqual([])
  })

  test('password changes, leases and the marking of outdated passwords scan no table', async () => {
    const { db } = room
    const user = { id: 'users_1', tenantId: 'tenants_1' }
    const turn = async () => {
      const taken = await acquirePasswordLease({ db, clock }, user.id)
      if (taken) await releasePasswordLease(db, taken)
    }
    expect(await wholeReads(turn)).toEqual([])
    expect(await wholeReads(() => inTransaction((tx) => recordPasswordSet(tx, clock, user)))).toEqual([])
    const back = { tenantId: user.tenantId, takenAt: isoNow(clock) }
    expect(await wholeReads(() => inTransaction((tx) => markOutdatedPasswords(tx, clock, back)))).toEqual([])
  })

  test('a statement without an index is detected', async () => {
    const tables = (await wholeReads(() => sql`select id from users where display_name = 'Anna'`.execute(room.db))).map(
      ({ table }) => table,
    )
    expect(tables).toEqual(['users'])
  })
})
