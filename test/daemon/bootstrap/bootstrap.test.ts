import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { PayloadOf, TenantEventType } from '../../../src/core/events/index.ts'
import type { OwnSpace } from '../../../src/core/spaces/index.ts'
import { bootstrapDocuments } from '../../../src/daemon/bootstrap/bootstrap-documents.ts'
import { buildDocument } from '../../../src/daemon/bootstrap/build-document.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { recordEvent } from '../../../src/daemon/events/index.ts'
import { tagged } from '../../../src/daemon/http/index.ts'
import { changeTenant } from '../../../src/daemon/tenants/change-tenant.ts'
import { changeUser } from '../../../src/daemon/users/change-user.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { emptyDatabase, onBothDialects } from '../../support/databases.ts'
import { aSpace, aTasksWorld, type TasksWorld } from '../../support/tasks-world.ts'
import { userPorts } from '../../support/user-ports.ts'

const everybody = ['anna', 'ben', 'tim', 'mia', 'olga'] as const

const callerOf = (userId: string) => {
  const tenantSlug = userId === 'olga' ? 'two' : 'one'
  return { userId, tenantSlug, tenantId: `ten_${tenantSlug}` } as Parameters<ReturnType<typeof bootstrapDocuments>>[0]
}

/** Replicas over one database; each records the users whose documents it builds. */
function aReplica(room: TasksWorld, bytes?: number) {
  const made: string[] = []
  const spacesOf: TasksWorld['spacesOf'] = async (db, user) => {
    made.push(user.userId)
    return room.spacesOf(db, user)
  }
  const deps = { ...room, spacesOf }
  const of = bootstrapDocuments(deps, bytes === undefined ? {} : { bytes })
  const read = async (userId: string) => JSON.parse((await of(callerOf(userId))).text)
  /** Users whose document is rebuilt when all users request one. */
  const madeFor = async () => {
    made.length = 0
    for (const who of everybody) await read(who)
    return [...made]
  }
  return { of, read, madeFor, made }
}

const happens = <Type extends TenantEventType>({ db, clock }: TasksWorld, type: Type, payload: PayloadOf<Type>) =>
  db.transaction().execute((tx) => recordEvent(tx, clock, { tenantId: 'ten_one', type, payload, audience: 'tenant' }))

type Write = (room: TasksWorld) => Promise<unknown>

const operatorNeeds = (room: TasksWorld) => ({ ...room, windows: { timeZone: 'UTC', windows: {} } as never })
const tenantChange = (change: object) => (room: TasksWorld) => changeTenant(operatorNeeds(room), anOperator, { slug: 'one', ...change })
const userChange = (change: object) => (room: TasksWorld) =>
  changeUser({ ...room, ...userPorts }, anOperator, { slug: 'one', localpart: 'anna', ...change })
const task = (body: object) => (room: TasksWorld) => room.as('mia').createTask({ body: { title: 'T', ...body } })

async function movesSpace(room: TasksWorld, type: 'user.joined' | 'user.left', spaces: OwnSpace[]): Promise<void> {
  room.spaces.set('ben', spaces)
  await happens(room, type, { userId: 'ben', spaceId: 's1' })
}

/** As the feature of maintenance writes it, with its event. */
async function announced(room: TasksWorld): Promise<void> {
  const maintenanceId = `mnt_${Math.random()}`
  const times = { starts_at: '2026-01-06T02:00:00.000Z', ends_by: null, announced_at: room.clock.now().toISOString(), ended_at: null }
  await room.db
    .insertInto('maintenance_notices')
    .values({
      ...{ id: maintenanceId, tenant_id: 'ten_one', action_id: `of.${maintenanceId}`, status: 'planned', emergency: 0 },
      ...{ ...times, expected_downtime_ms: 3000, measured: 1, downtime_ms: null },
    })
    .execute()
  await happens(room, 'maintenance.changed', { maintenanceId })
}

const one = ['anna', 'ben', 'tim', 'mia']
const writes: readonly (readonly [string, Write, readonly string[]])[] = [
  ['a flag', tenantChange({ featureFlags: { newChat: true } }), one],
  ['a branding', tenantChange({ branding: { tenantName: 'School One' } }), one],
  ['a colour', tenantChange({ branding: { color: '#0b5394' } }), one],
  ['the name of the tenant', tenantChange({ name: 'Uno' }), one],
  ['another plan', tenantChange({ plan: 'pro' }), []],
  ['a school', tenantChange({ schoolId: 'school-7' }), one],
  ['a name, by an operator', userChange({ displayName: 'Anna B' }), ['anna']],
  ['a profile, by the user', (room) => room.as('ben').changeProfile({ body: { locale: 'de' } }), ['ben']],
  ['maintenance', announced, one],
  ['a task of a user', task({ assigneeId: 'ben' }), ['ben']],
  ['a task of a role', task({ assignedRole: 'TEACHER' }), ['tim']],
  ['a task of nobody', task({}), []],
  ['somebody comes into a space', (room) => movesSpace(room, 'user.joined', [aSpace('s1')]), ['ben']],
  ['somebody leaves a space', (room) => movesSpace(room, 'user.left', []), ['ben']],
  ['a space that nobody of them is in', (room) => happens(room, 'space.updated', { spaceId: 's9' }), []],
  ['a module', (room) => happens(room, 'module.activated', { moduleId: 'm1' }), one],
  ['roles', userChange({ roles: ['teacher'] }), ['anna']],
  ['a file', (room) => happens(room, 'file.created', { fileId: 'f1', spaceId: 's1' }), []],
]

onBothDialects('bootstrap', (fresh) => {
  const room = async () => aTasksWorld(await fresh())

  test('the document contains the fields of the specification, and spaces, tasks, permissions and profile', async () => {
    const world = await room()
    world.spaces.set('mia', [aSpace('s1', 'Class 1')])
    await tenantChange({ featureFlags: { newChat: true, oldChat: false } })(world)
    const due = await world.as('mia').createTask({ body: { title: 'First', assigneeId: 'mia', dueAt: '2026-02-01T00:00:00Z' } })
    const late = await world.as('mia').createTask({ body: { title: 'Second', assignedRole: 'HEAD' } })
    expect(await world.as('mia').bootstrap()).toEqual({
      user: { matrixUserId: '@mia:chat.one.example' },
      context: { schoolId: 'ten_one', orgId: 'ten_one', roles: ['head'] },
      modules: [],
      featureFlags: { newChat: true, oldChat: false },
      branding: { tenantName: 'one', color: null, textColor: null, logoPath: null },
      apiVersion: 'v1',
      spaces: [{ id: 's1', name: 'Class 1', type: 'CLASSROOM', visibility: 'PRIVATE', role: 'member' }],
      tasks: [
        { id: due.id, title: 'First', status: 'open', assignedRole: null, dueAt: '2026-02-01T00:00:00.000Z' },
        { id: late.id, title: 'Second', status: 'open', assignedRole: 'HEAD', dueAt: null },
      ],
      permissions: ['manageBoards', 'manageRuns', 'manageUsers'],
      profile: { displayName: null, avatarUrl: null, locale: null },
      maintenance: null,
    })
  })

  test('each write invalidates exactly the documents it changes, and the next response of every replica includes it', async () => {
    const world = await room()
    const [here, there] = [aReplica(world), aReplica(world)]
    await here.madeFor()
    await there.madeFor()
    expect(await here.madeFor()).toEqual([])
    for (const [what, write, expected] of writes) {
      await write(world)
      expect([what, await here.madeFor()]).toEqual([what, expected])
      expect([what, await there.madeFor()]).toEqual([what, expected])
      for (const who of everybody) {
        const { bootstrap } = await buildDocument(world, callerOf(who))
        expect([what, await here.read(who)]).toEqual([what, bootstrap])
      }
    }
  })

  test('a document with a task is stale when another user gets the task', async () => {
    const world = await room()
    const replica = aReplica(world)
    const { id } = await world.as('mia').createTask({ body: { title: 'T', assigneeId: 'anna' } })
    await replica.madeFor()
    await world.as('mia').assignTask({ params: { id }, body: { assigneeId: 'ben' } })
    expect(await replica.madeFor()).toEqual(['anna', 'ben'])
    expect([(await replica.read('anna')).tasks, (await replica.read('ben')).tasks.length]).toEqual([[], 1])
  })

  test('after any sequence of writes every response equals a fresh document', async () => {
    const world = await room()
    const replicas = [aReplica(world), aReplica(world, 3000)]
    const aStep = fc.record({
      write: fc.option(fc.nat(writes.length - 1), { nil: undefined }),
      who: fc.constantFrom(...everybody),
      replica: fc.nat(1),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { maxLength: 12 }), async (steps) => {
        for (const { write, who, replica } of steps) {
          if (write !== undefined) await writes[write]?.[1](world)
          const { bootstrap } = await buildDocument(world, callerOf(who))
          expect(await replicas[replica]?.of(callerOf(who))).toEqual(tagged(bootstrap))
        }
      }),
      { numRuns: 15 },
    )
  })

  test('concurrent calls and writes: no response is older than the commits before its call', async () => {
    const world = await room()
    const replica = aReplica(world)
    let written = 0
    const writing = (async () => {
      for (let n = 1; n <= 15; n++) {
        await world.as('ben').changeProfile({ body: { displayName: `Ben ${n}` } })
        written = n
      }
    })()
    const seen: (readonly [number, number])[] = []
    while (written < 15) {
      const before = written
      const name: string = (await replica.read('ben')).profile.displayName ?? 'Ben 0'
      seen.push([before, Number(name.slice(4))])
    }
    await writing
    expect(seen.filter(([before, shown]) => shown < before)).toEqual([])
  })

  test('a rolled back change is in no document and invalidates none', async () => {
    const world = await room()
    const replica = aReplica(world)
    await replica.madeFor()
    const broken = world.db.transaction().execute(async (tx) => {
      await tx.updateTable('users').set({ display_name: 'Never' }).where('id', '=', 'ben').execute()
      await recordEvent(tx, world.clock, {
        ...{ tenantId: 'ten_one', type: 'user.profile_changed', payload: { userId: 'ben' }, audience: 'tenant' },
      })
      throw new Error('the daemon died')
    })
    await expect(broken).rejects.toThrow('the daemon died')
    expect(await replica.madeFor()).toEqual([])
  })

  test('expired or too many events rebuild all documents of the tenant, and no others', async () => {
    const world = await room()
    const replica = aReplica(world)
    await replica.madeFor()
    await happens(world, 'file.created', { fileId: 'f1', spaceId: 's1' })
    await happens(world, 'file.created', { fileId: 'f2', spaceId: 's1' })
    await world.db.deleteFrom('events').where('seq', '=', 1).execute()
    expect(await replica.madeFor()).toEqual(one)
    await world.db.transaction().execute(async (tx) => {
      for (let n = 0; n < 500; n++)
        await recordEvent(tx, world.clock, { tenantId: 'ten_one', type: 'board.saved', payload: { boardId: 'b' }, audience: 'tenant' })
    })
    expect(await replica.madeFor()).toEqual(one)
  })

  test('a full cache evicts the least recently used documents', async () => {
    const world = await room()
    const { text } = await aReplica(world).of(callerOf('mia'))
    const replica = aReplica(world, 3 * (2 * text.length + 400))
    for (const who of ['anna', 'ben', 'tim', 'anna', 'mia']) await replica.read(who)
    replica.made.length = 0
    for (const who of ['anna', 'tim', 'mia', 'ben']) await replica.read(who)
    expect(replica.made).toEqual(['ben'])
  })

  test('a user without access gets no document, and users of other tenants never another’s', async () => {
    const world = await room()
    const replica = aReplica(world)
    await world.db.updateTable('users').set({ status: 'disabled' }).where('id', '=', 'tim').execute()
    await expect(replica.read('tim')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const crossed = { ...callerOf('anna'), tenantId: 'ten_two', tenantSlug: 'two' } as ReturnType<typeof callerOf>
    await replica.read('anna')
    await expect(replica.of(crossed)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  describe('over HTTP', () => {
    const get = (world: TasksWorld, headers: Record<string, string> = {}, method = 'GET') =>
      fetch(`${world.baseUrl}/api/platform/v1/bootstrap`, {
        method,
        headers: { authorization: 'Bearer anna', connection: 'close', ...headers },
      })

    test('a response has a strong ETag, which changes exactly with the response', async () => {
      const world = await room()
      const first = await get(world)
      const etag = first.headers.get('etag') ?? ''
      expect([first.status, etag.startsWith('"'), first.headers.get('cache-control')]).toEqual([200, true, 'private, no-cache'])
      expect([first.headers.get('vary'), first.headers.get('content-type')]).toEqual(['Authorization', 'application/json; charset=utf-8'])
      const text = await first.text()
      expect(Number(first.headers.get('content-length'))).toBe(Buffer.byteLength(text))
      await userChange({ displayName: 'Änne' })(world)
      const second = await get(world, { 'if-none-match': etag })
      expect([second.status, second.headers.get('etag') === etag]).toEqual([200, false])
      await second.text()
      await userChange({ displayName: null })(world)
      expect((await get(world, { 'if-none-match': etag })).status).toBe(304)
    })

    test.each([
      ['the tag', (tag: string) => tag, 304],
      ['a list with the tag', (tag: string) => `"x", ${tag}`, 304],
      ['the tag, made weak on the way', (tag: string) => `W/${tag}`, 304],
      ['anything', () => '*', 304],
      ['another tag', () => '"x"', 200],
      ['the tag without quotes', (tag: string) => tag.slice(1, -1), 200],
      ['nonsense', () => ',,"', 200],
    ])('If-None-Match with %s', async (_, header, status) => {
      const world = await room()
      const etag = (await get(world)).headers.get('etag') ?? ''
      const answer = await get(world, { 'if-none-match': header(etag) })
      expect([answer.status, answer.headers.get('etag'), answer.headers.get('cache-control')]).toEqual([status, etag, 'private, no-cache'])
      expect((await answer.text()) === '').toBe(status === 304)
    })

    test('HEAD returns the headers alone', async () => {
      const answer = await get(await room(), {}, 'HEAD')
      expect([answer.status, (answer.headers.get('etag') ?? '').length, await answer.text()]).toEqual([200, 34, ''])
    })
  })
})

test('a document is consistent: a commit during its build is in the next one', async () => {
  const { db } = await emptyDatabase('postgres')
  onTestFinished(() => db.destroy())
  const room = await aTasksWorld(db)
  let made = 0
  const spacesOf: TasksWorld['spacesOf'] = async (tx, user) => {
    made += 1
    if (made === 1) await task({ assigneeId: 'ben' })(room)
    return room.spacesOf(tx, user)
  }
  const documentOf = bootstrapDocuments({ ...room, spacesOf })
  const tasks = async () => JSON.parse((await documentOf(callerOf('ben'))).text).tasks.length
  expect([await tasks(), await tasks(), made]).toEqual([0, 1, 2])
})

test('concurrent calls share one database read', async () => {
  const { db } = await emptyDatabase('sqlite')
  const world = await aTasksWorld(db)
  const replica = aReplica({ ...world, db: counted(db) } as TasksWorld)
  await replica.madeFor()
  looks = 0
  await Promise.all(Array.from({ length: 50 }, () => replica.read('anna')))
  expect(looks).toBeLessThan(5)
})

let looks = 0
const counted = (db: Db): Db =>
  new Proxy(db, {
    get: (of, key) => {
      if (key === 'selectFrom') looks += 1
      const value = Reflect.get(of, key)
      return typeof value === 'function' ? value.bind(of) : value
    },
  })
