import { expect, test } from 'vitest'
import { onBothDialects } from '../../support/databases.ts'
import { aPeopleWorld, type PeopleWorld } from '../../support/people-world.ts'

type Api = Awaited<ReturnType<PeopleWorld['aUser']>>['api']
type Call = (api: Api, params: { userId: string }) => Promise<unknown>

/** Every endpoint of the administration, with a call that a caller with its capability can make. */
const calls: Readonly<Record<string, Call>> = {
  listPeople: (api) => api.listPeople({}),
  createPerson: (api) => api.createPerson({ body: { localpart: `new-${Math.random().toString(36).slice(2)}` } }),
  importPeople: (api) => api.importPeople({ body: { csv: 'username\nimported\n', dryRun: true } }),
  showPerson: (api, params) => api.showPerson({ params }),
  changePerson: (api, params) => api.changePerson({ params, body: { locale: 'de' } }),
  disablePerson: (api, params) => api.disablePerson({ params, body: { reason: 'left' } }),
  enablePerson: (api, params) => api.enablePerson({ params }),
  unlockPerson: (api, params) => api.unlockPerson({ params }),
  endPersonSessions: (api, params) => api.endPersonSessions({ params }),
  resetPersonPassword: (api, params) => api.resetPersonPassword({ params }),
  invitePerson: (api, params) => api.invitePerson({ params }),
  exportPerson: (api, params) => api.exportPerson({ params }),
  erasePerson: (api, params) => api.erasePerson({ params }),
  listOwnAudit: (api) => api.listOwnAudit({}),
}
const isOfRecord = (name: string) => name === 'listOwnAudit'

onBothDialects('who may administer a tenant', (fresh) => {
  test('every endpoint has its call here', async () => {
    const { peopleContract } = await import('../../../src/core/people/index.ts')
    const { tenantRecordContract } = await import('../../../src/core/audit/index.ts')
    expect(Object.keys(calls).toSorted()).toEqual([...Object.keys(peopleContract), ...Object.keys(tenantRecordContract)].toSorted())
  })

  test('each role gets each endpoint, or FORBIDDEN', async () => {
    const world = await aPeopleWorld(await fresh())
    const target = await world.aUser('target', ['member'], { email: 'target@school.example' })
    const outcomes: Record<string, string[]> = Object.fromEntries(Object.keys(calls).map((name) => [name, []]))
    for (const role of ['member', 'teacher', 'reader', 'head', 'tenant-admin']) {
      const { api } = await world.aUser(`the-${role}`, [role])
      for (const [name, call] of Object.entries(calls)) outcomes[name]?.push(await world.outcome(call(api, target)))
    }
    const no = 'FORBIDDEN'
    // A user is erased once; a second erasure repeats the jobs, and other verbs refuse an erased user.
    const afterErasure = [
      'changePerson',
      'disablePerson',
      'enablePerson',
      'unlockPerson',
      'endPersonSessions',
      'resetPersonPassword',
      'invitePerson',
    ]
    for (const name of Object.keys(calls)) {
      const last = afterErasure.includes(name) ? 'CONFLICT' : 'done'
      expect([name, outcomes[name]], name).toEqual([name, isOfRecord(name) ? [no, no, 'done', no, 'done'] : [no, no, no, 'done', last]])
    }
  })

  test('a user of another tenant does not exist for any of them, and stays as it is', async () => {
    const world = await aPeopleWorld(await fresh())
    const { api } = await world.aUser('boss', ['tenant-admin'])
    const stranger = await world.aStranger()
    const row = () => world.db.selectFrom('users').selectAll().where('id', '=', stranger).executeTakeFirstOrThrow()
    const before = await row()
    const ofOne = Object.entries(calls).filter(([, call]) => call.length === 2)
    for (const [name, call] of ofOne) expect([name, await world.outcome(call(api, { userId: stranger }))]).toEqual([name, 'NOT_FOUND'])
    expect(await world.outcome(api.listOwnAudit({ query: { userId: stranger } }))).toBe('NOT_FOUND')
    expect(await row()).toEqual(before)
    expect((await api.listPeople({})).users.map(({ localpart }) => localpart)).toEqual(['boss'])
  })

  test('nobody gives out, or gets at, more than they have', async () => {
    const world = await aPeopleWorld(await fresh())
    const head = await world.aUser('head', ['head'])
    const boss = await world.aUser('boss', ['tenant-admin'])
    const pupil = await world.aUser('pupil')
    const { api } = head
    const params = { userId: boss.userId }
    const refused = [
      api.createPerson({ body: { localpart: 'eve', roles: ['tenant-admin'] } }),
      api.changePerson({ params: pupil, body: { roles: ['member', 'teacher'] } }),
      api.changePerson({ params: head, body: { roles: ['head', 'tenant-admin'] } }),
      api.changePerson({ params, body: { roles: ['member'] } }),
      api.changePerson({ params, body: { email: 'head@school.example' } }),
      api.resetPersonPassword({ params }),
      api.disablePerson({ params, body: { reason: 'mine' } }),
      api.invitePerson({ params }),
      api.endPersonSessions({ params }),
      api.exportPerson({ params }),
      api.erasePerson({ params }),
      boss.api.changePerson({ params: pupil, body: { roles: ['store-reviewer'] } }),
    ]
    expect(new Set(await Promise.all(refused.map(world.outcome)))).toEqual(new Set(['CONFLICT', 'FORBIDDEN']))
    const csv = 'username,displayName,roles\neve,Eve,tenant-admin\nfay,Fay,member\nboss,Head,\n'
    for (const dryRun of [true, false]) {
      const { lines } = await api.importPeople({ body: { csv, dryRun, update: ['names'] } })
      expect(lines.map(({ localpart, outcome }) => `${localpart} ${outcome}`)).toEqual([
        'eve refused',
        dryRun ? 'fay would_create' : 'fay created',
        'boss refused',
      ])
    }
    const { users } = await boss.api.listPeople({})
    expect(users.map(({ localpart, roles, email }) => [localpart, ...roles, email])).toEqual([
      ['boss', 'tenant-admin', null],
      ['fay', 'member', null],
      ['head', 'head', null],
      ['pupil', 'member', null],
    ])
    expect(await world.outcome(boss.api.changePerson({ params: head, body: { roles: ['head', 'teacher'] } }))).toBe('done')
    expect(await world.outcome(boss.api.resetPersonPassword({ params: boss }))).toBe('CONFLICT')
  })

  test('the last administrator stays one, also when two remove each other at once', async () => {
    const world = await aPeopleWorld(await fresh())
    const [one, two] = [await world.aUser('one', ['tenant-admin']), await world.aUser('two', ['tenant-admin'])]
    const outcomes = await Promise.all([
      world.outcome(one.api.changePerson({ params: two, body: { roles: ['member'] } })),
      world.outcome(two.api.disablePerson({ params: one, body: { reason: 'left' } })),
    ])
    const administrators = await world.db
      .selectFrom('users')
      .select('localpart')
      .where('status', '=', 'active')
      .where('roles', 'like', '%tenant-admin%')
      .execute()
    expect([outcomes.filter((one) => one === 'done').length, administrators.length]).toEqual([1, 1])
    const last = administrators[0]?.localpart === 'one' ? one : two
    const removals = [
      () => last.api.changePerson({ params: last, body: { roles: ['member'] } }),
      () => last.api.disablePerson({ params: last, body: { reason: 'left' } }),
      () => last.api.erasePerson({ params: last }),
    ]
    for (const removal of removals)
      await expect(removal()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('last user') })
  })
})
