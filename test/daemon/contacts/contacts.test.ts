import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reaches } from '../../../src/core/events/index.ts'
import {
  isoNow,
  isProblem,
  manualClock,
  newId,
  type PlatformPrincipal,
  type Problem,
  type ProblemCode,
  type UserId,
} from '../../../src/core/kit/index.ts'
import { capabilitiesOf, matrixUserIdOf, readRoleBook } from '../../../src/core/users/index.ts'
import { contactsAfter, findContact } from '../../../src/daemon/contacts/contacts.repo.ts'
import { isContact, listContacts, publishContactEvent, showContact } from '../../../src/daemon/contacts/contacts.ts'
import { type Db, eventsAfter } from '../../../src/daemon/db/index.ts'
import { insertMember } from '../../../src/daemon/spaces/members.repo.ts'
import { insertSpace } from '../../../src/daemon/spaces/spaces.repo.ts'
import { changeProfile } from '../../../src/daemon/users/change-user.ts'
import { insertUser } from '../../../src/daemon/users/users.repo.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { explained } from '../../support/explained.ts'
import { twoTenants } from '../../support/sessions-world.ts'

const refusedWith = (code: ProblemCode) => (error: unknown) => isProblem(error, code)
const clock = manualClock()
const at = isoNow(clock)
const roles = readRoleBook(
  {
    defaultRole: 'parent',
    roles: { parent: {}, 'parent-x': {}, nurse: { listed: true }, secretary: { capabilities: ['readContacts'] } },
  },
  'roles.yaml',
)

type Given = Readonly<{ tenant?: 'one' | 'two'; role?: string; displayName?: string; status?: 'active' | 'disabled' }>

/** Users of the tenants `one` and `two` by localpart, and spaces of `one`. */
async function aSchool(db: Db) {
  await twoTenants(db)
  const deps = { db, clock, roles }
  async function aUser(localpart: string, { tenant = 'one', role = 'parent', displayName, status = 'active' }: Given = {}) {
    const id = newId<UserId>(systemRandom, 'usr')
    const tenantId = `ten_${tenant}` as never
    const known = { displayName: displayName ?? null, locale: null, avatarUrl: null, roles: [role], status }
    await db.transaction().execute((tx) => insertUser(tx, { id, tenantId, localpart, ...known, createdAt: at, updatedAt: at }))
    const who = { userId: id, matrixUserId: matrixUserIdOf(localpart, `chat.${tenant}.example`), tenantId, tenantSlug: tenant }
    const capabilities = capabilitiesOf(roles, { tenantSlug: tenant, roles: [role] })
    return { kind: 'user', ...who, sessionId: 'ses_1', roles: [role], capabilities } as PlatformPrincipal
  }
  async function aSpace(...members: readonly PlatformPrincipal[]) {
    const id = newId<never>(systemRandom, 'spc')
    const tenantId = 'ten_one' as never
    const rest = { revision: 1, chatRevision: 0, spaceRoomId: null, roomId: null, createdBy: 'usr_1', deletedAt: null }
    const space = { id, tenantId, name: '4b', type: 'CLASSROOM', visibility: 'PRIVATE', createdAt: at, updatedAt: at, ...rest } as const
    await db.transaction().execute(async (tx) => {
      await insertSpace(tx, space)
      for (const { userId } of members) await insertMember(tx, { spaceId: id, userId, tenantId, role: 'member', joinedAt: at })
    })
    return id as string
  }
  const seenBy = async (who: PlatformPrincipal, search?: string) =>
    (await listContacts(deps, who, { search, limit: 200 })).contacts.map(({ matrixUserId }) => matrixUserId.slice(1).split(':')[0])
  return { ...deps, aUser, aSpace, seenBy }
}

onBothDialects('contacts', (fresh, dialect) => {
  test('a parent sees itself, members of its spaces and listed roles, and no other parent', async () => {
    const { aUser, aSpace, seenBy, ...deps } = await aSchool(await fresh())
    const [anna, ben, cem] = [await aUser('anna'), await aUser('ben'), await aUser('cem')]
    const nurse = await aUser('nora', { role: 'nurse' })
    await aUser('gone', { role: 'nurse', status: 'disabled' })
    await aUser('near', { role: 'parent-x' })
    await aUser('eve', { tenant: 'two', role: 'nurse' })
    const office = await aUser('sam', { role: 'secretary' })
    await aSpace(anna, ben)
    await aSpace(ben, cem)
    expect(await seenBy(anna)).toEqual(['anna', 'ben', 'nora'])
    expect(await seenBy(nurse)).toEqual(['nora'])
    expect(await seenBy(office)).toEqual(['anna', 'ben', 'cem', 'near', 'nora', 'sam'])
    expect(await showContact(deps, anna, ben)).toEqual({
      ...{ userId: ben.userId, matrixUserId: '@ben:chat.one.example', displayName: null, avatarUrl: null, roles: ['parent'] },
    })
    for (const { userId } of [cem, office]) await expect(showContact(deps, anna, { userId })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
  })

  test('are found by words of their names, ignoring case and accents, without wildcards', async () => {
    const { aUser, seenBy } = await aSchool(await fresh())
    const sam = await aUser('sam', { role: 'secretary', displayName: 'Sam 100%' })
    await aUser('o.celik', { displayName: 'Özlem Çelik' })
    await aUser('ben_lang', { displayName: 'Ben Lang' })
    await aUser('benlang')
    expect(await seenBy(sam, 'OZLEM')).toEqual(['o.celik'])
    expect(await seenBy(sam, 'çelik öz')).toEqual(['o.celik'])
    expect(await seenBy(sam, 'lang  ben')).toEqual(['ben_lang', 'benlang'])
    expect(await seenBy(sam, 'n_l')).toEqual(['ben_lang'])
    expect(await seenBy(sam, '%')).toEqual(['sam'])
    expect(await seenBy(sam, '\\')).toEqual([])
  })

  test('are listed by name in pages, also with equal names; an unknown cursor is refused', async () => {
    const { aUser, ...deps } = await aSchool(await fresh())
    const sam = await aUser('sam', { role: 'secretary' })
    for (const localpart of ['a1', 'a2', 'a3']) await aUser(localpart, { displayName: 'Zoe' })
    await aUser('zz', { displayName: 'Adam' })
    const eve = await aUser('eve', { tenant: 'two' })
    const pages: (string | null)[][] = []
    for (let cursor: string | undefined; ; ) {
      const { contacts, nextCursor } = await listContacts(deps, sam, { limit: 2, cursor })
      pages.push(contacts.map(({ displayName, matrixUserId }) => displayName ?? matrixUserId))
      if (nextCursor === null) break
      cursor = nextCursor
    }
    expect(pages).toEqual([['Adam', '@sam:chat.one.example'], ['Zoe', 'Zoe'], ['Zoe']])
    for (const cursor of ['x', eve.userId])
      await expect(listContacts(deps, sam, { limit: 2, cursor })).rejects.toSatisfy(refusedWith('VALIDATION'))
  })

  test('a cursor does not reveal a user: an invisible user and a missing user get the same answer', async () => {
    const { aUser, aSpace, db, ...deps } = await aSchool(await fresh())
    const [anna, ben, cem] = [await aUser('anna'), await aUser('ben'), await aUser('cem')]
    const gone = await aUser('gone', { role: 'nurse', status: 'disabled' })
    await aSpace(anna, ben)
    const answer = async (cursor: string) => {
      const asked: string[] = []
      const watching = db.withPlugin({
        transformQuery: ({ node }) => {
          asked.push(node.kind)
          return node
        },
        transformResult: async ({ result }) => result,
      })
      const refused = await listContacts({ ...deps, db: watching }, anna, { limit: 2, cursor }).catch((error: unknown) => error)
      const { code, message, details } = refused as Problem
      return { code, message, details, asked }
    }
    const ofNobody = await answer('usr_nobody')
    expect(ofNobody).toMatchObject({ code: 'VALIDATION', details: [{ path: 'cursor' }] })
    expect(new Set(ofNobody.asked)).toEqual(new Set(['SelectQueryNode']))
    for (const { userId } of [cem, gone]) expect(await answer(userId)).toEqual(ofNobody)
    const { contacts } = await listContacts({ ...deps, db }, anna, { limit: 2, cursor: anna.userId })
    expect(contacts.map(({ userId }) => userId)).toEqual([ben.userId])
  })

  test('a new name is found at once, and published to the users who see the contact and to its own clients', async () => {
    const { aUser, aSpace, seenBy, db, ...deps } = await aSchool(await fresh())
    const [anna, ben] = [await aUser('anna'), await aUser('ben')]
    const spaceId = await aSpace(anna, ben)
    await changeProfile({ ...deps, db }, anna, { displayName: 'Ännchen' })
    expect(await seenBy(ben, 'annch')).toEqual(['anna'])
    await changeProfile({ ...deps, db }, anna, { locale: 'de' })
    const told = await eventsAfter(db, { stream: 'tenant:ten_one', after: 0 })
    expect(told.map(({ eventType, audience }) => [eventType, audience])).toEqual([
      ['user.contact_changed', { users: [anna.userId], capability: 'readContacts', spaces: [spaceId] }],
      ['user.profile_changed', { users: [anna.userId] }],
      ['user.profile_changed', { users: [anna.userId] }],
    ])
  })

  test('for any spaces and roles: exactly the users who see a contact get its events', async () => {
    const { aUser, aSpace, seenBy, db, ...deps } = await aSchool(await fresh())
    const given = [...'abcdefg'].map((name, n) => [name, ['parent', 'parent-x', 'nurse', 'secretary'][n % 4] as string] as const)
    const people = await Promise.all(given.map(([name, role]) => aUser(name, { role })))
    const spaces = await Promise.all([aSpace(), aSpace(), aSpace()])
    const inSpaces = fc.array(fc.subarray(people), { minLength: 3, maxLength: 3 })
    const school = async (members: readonly (readonly PlatformPrincipal[])[]) => {
      await db.deleteFrom('space_members').execute()
      const rows = members.flatMap((some, n) => some.map(({ userId }) => ({ spaceId: String(spaces[n]), userId })))
      await db.transaction().execute(async (tx) => {
        for (const row of rows) await insertMember(tx, { ...row, tenantId: 'ten_one', role: 'member', joinedAt: at })
      })
      return (spaceId: string, userId: string) => rows.some((row) => row.spaceId === spaceId && row.userId === userId)
    }
    await fc.assert(
      fc.asyncProperty(inSpaces, fc.nat({ max: people.length - 1 }), async (members, n) => {
        const isMember = await school(members)
        const of = people[n] as PlatformPrincipal
        const user = { id: of.userId, tenantId: of.tenantId }
        await db.transaction().execute((tx) => publishContactEvent(tx, deps, { type: 'user.enabled', user, roles: of.roles }))
        const event = (await eventsAfter(db, { stream: 'tenant:ten_one', after: 0, limit: 500 })).at(-1)
        for (const one of people) {
          const sees = await isContact({ db, roles }, one, of.userId)
          const alike = one === of || one.roles[0] === 'secretary' || of.roles[0] === 'nurse'
          const together = spaces.some((spaceId) => isMember(spaceId, one.userId) && isMember(spaceId, of.userId))
          expect(sees).toBe(alike || together)
          expect(reaches(event?.audience ?? null, one, isMember)).toBe(sees)
          expect((await seenBy(one)).includes(String(given[n]?.[0]))).toBe(sees)
        }
      }),
      { numRuns: 8 },
    )
  })

  test('are read along an index by name, and memberships by the spaces of the viewer', async () => {
    const { aUser, db } = await aSchool(await fresh())
    const { userId } = await aUser('anna')
    const onlooker = { tenantId: 'ten_one', userId, visibility: { roles: ['nurse'] } }
    const page = { search: 'b', after: { name: 'anna anna', id: userId }, limit: 50 }
    const list = (await explained(db, dialect, (tx) => contactsAfter(tx, onlooker, page))).at(-1)
    const one = (await explained(db, dialect, (tx) => findContact(tx, onlooker, userId))).at(-1)
    for (const plan of [list, one]) expect(plan).not.toMatch(/SCAN (users|own|other|tenants)|Seq Scan|TEMP B-TREE|Sort/)
    expect(list).toMatch(dialect === 'sqlite' ? /users USING INDEX users_by_name \(tenant_id=\? AND/ : /Index Scan using users_by_name/)
  })
})
