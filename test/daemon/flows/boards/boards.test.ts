import { expect, test } from 'vitest'
import { eventsAfter } from '../../../../src/daemon/db/index.ts'
import { publishBoard } from '../../../../src/daemon/flows/boards/publish-board.ts'
import { roomsOfMember } from '../../../../src/daemon/spaces/index.ts'
import { sketch } from '../../../core/boards/sketch.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aSpace, aTasksWorld, codeOf, principalOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { joined, storedSpace } from '../runs/a-board.ts'

const sound = sketch('s > t1 > c1 > e', { c1: { assignedRole: 'school-principal' } })
const deadlocked = sketch('s > d1; d1 -1 > 2-> t1 > j1; d1 -else-> t2 > j1; j1 > e')

onBothDialects('boards', (fresh) => {
  const room = async () => aTasksWorld(await fresh())
  const create = (one: TasksWorld, change: Record<string, unknown> = {}) =>
    one.as('mia').createBoard({ body: { name: 'Crisis', definition: sound, ...change } })
  const eventTypes = async ({ db }: TasksWorld) =>
    (await eventsAfter(db, { stream: 'tenant:ten_one', after: 0 })).map(({ eventType }) => eventType)
  const audited = ({ db }: TasksWorld) => db.selectFrom('audit').select(['action', 'actor', 'subject']).orderBy('seq').execute()

  test('a board is created as a draft, saved, published and archived, each with its event', async () => {
    const one = await room()
    const mia = one.as('mia')
    const board = await create(one)
    const params = { id: board.id }
    expect(board).toMatchObject({ status: 'draft', version: 1, publishedVersion: null, definition: sound, spaceId: null, description: '' })
    expect(await mia.publishBoard({ params })).toMatchObject({ status: 'active', version: 1, publishedVersion: 1 })
    const saved = await mia.saveBoard({ params, body: { name: 'Crisis 2', definition: sketch('s > e'), version: 1 } })
    expect(saved).toMatchObject({ name: 'Crisis 2', status: 'active', version: 2, publishedVersion: 1 })
    expect((await mia.showBoard({ params })).definition).toEqual(sketch('s > e'))
    expect(await mia.publishBoard({ params })).toMatchObject({ version: 2, publishedVersion: 2 })
    expect(await mia.archiveBoard({ params })).toMatchObject({ status: 'archived' })
    expect(await mia.publishBoard({ params })).toMatchObject({ status: 'active' })
    expect(await eventTypes(one)).toEqual([
      'board.created',
      'board.published',
      'board.saved',
      'board.published',
      'board.archived',
      'board.published',
    ])
    expect((await audited(one)).map(({ action }) => action)).toEqual([
      'board.published',
      'board.published',
      'board.archived',
      'board.published',
    ])
  })

  test('publishing and archiving again change nothing', async () => {
    const one = await room()
    const params = { id: (await create(one)).id }
    for (const act of ['publishBoard', 'publishBoard', 'archiveBoard', 'archiveBoard'] as const) await one.as('mia')[act]({ params })
    expect(await eventTypes(one)).toEqual(['board.created', 'board.published', 'board.archived'])
  })

  test('each saved version stays as it was saved', async () => {
    const one = await room()
    const mia = one.as('mia')
    const params = { id: (await create(one)).id }
    for (const version of [1, 2]) await mia.saveBoard({ params, body: { name: 'Crisis', definition: sketch('s > e'), version } })
    const first = await mia.listBoardVersions({ params, query: { limit: 2 } })
    expect(first).toMatchObject({ versions: [{ version: 3, savedBy: 'mia' }, { version: 2 }], nextCursor: '2' })
    const rest = await mia.listBoardVersions({ params, query: { limit: 2, cursor: first.nextCursor as string } })
    expect(rest).toMatchObject({ versions: [{ version: 1 }], nextCursor: null })
    expect((await mia.showBoardVersion({ params: { ...params, version: 1 } })).definition).toEqual(sound)
    expect(await codeOf(mia.showBoardVersion({ params: { ...params, version: 9 } }))).toBe('NOT_FOUND')
    expect(await codeOf(mia.listBoardVersions({ params, query: { cursor: 'x' } }))).toBe('VALIDATION')
  })

  test('of large versions fewer are stored: the newest up to 10 million characters, and the published one', async () => {
    const one = await room()
    const mia = one.as('mia')
    const texts = Array.from({ length: 230 }, (_, n) => [`m${n}`, { room: 'space', body: 'x'.repeat(4_000) }] as const)
    const definition = sketch(`s > ${texts.map(([id]) => id).join(' > ')} > t1 > e`, Object.fromEntries(texts))
    const { id } = await mia.createBoard({ body: { name: 'Large', definition } })
    await mia.publishBoard({ params: { id } })
    for (let version = 1; version < 16; version++) await mia.saveBoard({ params: { id }, body: { name: 'Large', version, definition } })
    const { versions } = await mia.listBoardVersions({ params: { id } })
    expect(versions.map(({ version }) => version)).toEqual([16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 1])
  })

  test('a tenant stores 200 million characters: a further board is refused, and a save that stores less is not', async () => {
    const one = await room()
    const mia = one.as('mia')
    const [first, other] = [(await create(one)).id, (await create(one)).id]
    const save = (id: string, version: number, definition = sketch('s > e')) =>
      mia.saveBoard({ params: { id }, body: { name: 'Crisis', definition, version } })
    await save(first, 1)
    const stored = (id: string, version: number) =>
      one.db.updateTable('board_versions').where('board_id', '=', id).where('version', '=', version)
    await stored(first, 1).set({ characters: 150_000_000 }).execute()
    await stored(first, 2).set({ characters: 60_000_000 }).execute()
    const refused = 'have 210,00'
    await expect(create(one)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining(refused) })
    await expect(save(other, 1, sound)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('200,000,000') })
    expect((await mia.listBoards()).boards).toHaveLength(2)
    expect(await codeOf(one.as('olga').createBoard({ body: { name: 'Of another tenant', definition: sound } }))).toBe('ok')
    await save(other, 1)
    await save(first, 2)
    const { versions } = await mia.listBoardVersions({ params: { id: first } })
    expect(versions.map(({ version }) => version)).toEqual([3])
    expect(await codeOf(create(one))).toBe('ok')
  })

  test('the newest 100 versions are stored, the published one, and those that have runs', async () => {
    const one = await room()
    const mia = one.as('mia')
    const params = { id: (await create(one)).id }
    await mia.publishBoard({ params })
    await mia.startRun({ params, body: { spaceId: null } })
    const save = (version: number) => mia.saveBoard({ params, body: { name: 'Crisis', definition: sketch('s > e'), version } })
    for (const version of [1, 2, 3]) await save(version)
    await mia.publishBoard({ params })
    await one.db.updateTable('boards').set({ version: 200 }).execute()
    const { board_id, tenant_id, definition } = await one.db.selectFrom('board_versions').selectAll().limit(1).executeTakeFirstOrThrow()
    const saved = { board_id, tenant_id, definition, characters: 10, saved_by: null, saved_at: '2026-01-05T02:00:00.000Z' }
    for (const version of [100, 101, 102, 200])
      await one.db
        .insertInto('board_versions')
        .values({ ...saved, version })
        .execute()
    await save(200)
    const { versions } = await mia.listBoardVersions({ params, query: { limit: 50 } })
    expect(versions.map(({ version }) => version)).toEqual([201, 200, 102, 4, 1])
  })

  test('of two who save the same version one does, and the other is told the present version', async () => {
    const one = await room()
    const mia = one.as('mia')
    const params = { id: (await create(one)).id }
    const save = () => codeOf(mia.saveBoard({ params, body: { name: 'Crisis', definition: sound, version: 1 } }))
    expect((await Promise.all([save(), save()])).toSorted()).toEqual(['CONFLICT', 'ok'])
    expect(await mia.showBoard({ params })).toMatchObject({ version: 2 })
  })

  test('a board with faults can be saved and checked, but not published', async () => {
    const one = await room()
    const mia = one.as('mia')
    const params = { id: (await create(one, { definition: deadlocked })).id }
    const { findings } = await mia.checkBoard({ params })
    expect(findings).toEqual([
      expect.objectContaining({ severity: 'error', code: 'DEADLOCK', elementId: 'j1', path: expect.arrayContaining(['s', 'j1']) }),
    ])
    await expect(mia.publishBoard({ params })).rejects.toMatchObject({
      code: 'BOARD_INVALID',
      violations: [
        {
          code: 'DEADLOCK',
          element: 'j1',
          message: expect.stringContaining('waits for a branch'),
          path: expect.arrayContaining(['s', 'j1']),
        },
      ],
    })
    expect(await mia.showBoard({ params })).toMatchObject({ status: 'draft' })
    expect(await eventTypes(one)).toEqual(['board.created'])
  })

  test('roles are those of the role file, rooms those of the tenant', async () => {
    const one = await room()
    const check = async (definition: unknown) => {
      const { id } = await create(one, { definition })
      return (await one.as('mia').checkBoard({ params: { id } })).findings.map(({ code }) => code)
    }
    expect(await check(sketch('s > t1 > e', { t1: { assignedRole: 'pilot' } }))).toEqual(['ROLE_UNKNOWN'])
    expect(await check(sketch('s > m1 > e', { m1: { room: '!hall:school' } }))).toEqual([])
    expect(await check(sketch('s > m1 > e', { m1: { room: '!other:school' } }))).toEqual(['ROOM_UNKNOWN'])
  })

  test('a board names a room only if a member of its space publishes it, or if the published version named it', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ roles: '["head"]' }).where('id', '=', 'ben').execute()
    const definition = sketch('s > m1 > e', { m1: { room: '!hall:school' } })
    const { id } = await create(one, { definition })
    await storedSpace(one, 'spc_4b')
    const own = (userId: string) => roomsOfMember(one.db, { tenantId: 'ten_one', userId })
    expect(await own('mia')).toEqual([])
    const member = {
      space_id: 'spc_4b',
      user_id: 'mia',
      tenant_id: 'ten_one',
      role: 'member',
      joined_at: '2026-01-05T00:00:00.000Z',
    } as const
    await one.db
      .insertInto('space_members')
      .values({ ...member, chat_joined_at: null, chat_refused_at: null })
      .execute()
    expect([await own('mia'), await own('ben')]).toEqual([['!room:one'], []])
    const params = { id }
    const faults = async () => (await one.as('ben').checkBoard({ params })).findings.map(({ code }) => code)
    expect(await faults()).toEqual(['ROOM_FOREIGN'])
    expect(await codeOf(one.as('ben').publishBoard({ params }))).toBe('BOARD_INVALID')
    await one.as('mia').publishBoard({ params })
    await one.as('ben').saveBoard({ params, body: { name: 'Again', definition, version: 1 } })
    expect(await faults()).toEqual([])
    expect(await one.as('ben').publishBoard({ params })).toMatchObject({ publishedVersion: 2 })
    // A member ended it; others do not begin it again.
    await one.as('mia').archiveBoard({ params })
    expect(await codeOf(one.as('ben').publishBoard({ params }))).toBe('BOARD_INVALID')
  })

  test('only a member of the space of a board lets it read or write there, or changes what it reads', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ roles: '["head"]' }).where('id', '=', 'ben').execute()
    await storedSpace(one, 'spc_1', '!hall:school')
    await joined(one, 'mia', 'spc_1')
    await one.db.updateTable('spaces').set({ visibility: 'TENANT' }).execute()
    const place = { spaceId: 'spc_1', roomId: '!hall:school', encryptedRooms: new Set<string>(), unknownRooms: new Set<string>() }
    const triggerPlace = async () => ({ ...place, timeZone: 'UTC', now: one.clock.now() })
    const { id } = await create(one, { spaceId: 'spc_1', definition: sketch('s > t1 > e') })
    let version = 1
    const publish = async (who: string, definition: object) => {
      await one
        .as(who)
        .saveBoard({ params: { id }, body: { version, name: 'B', spaceId: 'spc_1', definition: definition as typeof sound } })
      version += 1
      return codeOf(publishBoard({ ...one, triggerPlace }, await principalOf(one.db, who), { id }))
    }
    const said = { variables: [{ name: 'said', type: 'text' }] }
    const chat = (change: object = {}) => ({ ...said, triggers: [{ id: 'spy', kind: 'chat', phrases: ['alarm'], ...change }] })
    const file = { f1: { assignedRole: 'teacher', fields: [{ name: 'doc', label: 'Doc', kind: 'file' }] } }
    expect(await publish('mia', sketch('s > t1 > e'))).toBe('ok')
    expect(await publish('ben', sketch('s > t1 > t2 > e'))).toBe('ok')
    for (const foreign of [
      sketch('s > t1 > e', {}, chat()),
      sketch('s > t1 > e', {}, chat({ room: '!hall:school' })),
      sketch('s > t1 > e', {}, { triggers: [{ id: 'spy', kind: 'event', eventType: 'file.created' }] }),
      sketch('s > m1 > t1 > e'),
      sketch('s > r1 > t1 > e'),
      sketch('s > f1 > t1 > e', file),
    ])
      expect(await publish('ben', foreign)).toBe('BOARD_INVALID')
    // A member accepts a message to a room, not that the board reads it.
    expect(await publish('mia', sketch('s > m1 > t1 > e'))).toBe('ok')
    expect(await publish('ben', sketch('s > m1 > e', { m1: { body: 'Other words' } }))).toBe('ok')
    expect(await publish('ben', sketch('s > m1 > e', {}, chat()))).toBe('BOARD_INVALID')
    expect(await publish('mia', sketch('s > m1 > t1 > e', {}, chat()))).toBe('ok')
    expect(await publish('ben', sketch('s > m1 > e', {}, chat()))).toBe('ok')
    expect(await publish('ben', sketch('s > m1 > e', {}, chat({ phrases: ['the', 'a'], textVariable: 'said' })))).toBe('BOARD_INVALID')
  })

  test('a board without a space writes in the space of the room that it reads only for a member of it', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ roles: '["head"]' }).where('id', '=', 'ben').execute()
    const triggerPlace = async () => ({
      ...{ spaceId: null, roomId: null, encryptedRooms: new Set<string>(), unknownRooms: new Set<string>() },
      ...{ timeZone: 'UTC', now: one.clock.now() },
    })
    const chat = { triggers: [{ id: 'alarm', kind: 'chat', phrases: ['alarm'], room: '!hall:school' }] }
    const { id } = await create(one, { definition: sketch('s > t1 > e', {}, chat) })
    const publish = async (who: string) => codeOf(publishBoard({ ...one, triggerPlace }, await principalOf(one.db, who), { id }))
    expect(await publish('mia')).toBe('ok')
    await one.as('ben').saveBoard({ params: { id }, body: { version: 1, name: 'B', definition: sketch('s > m1 > e', {}, chat) } })
    expect([await publish('ben'), await publish('mia')]).toEqual(['BOARD_INVALID', 'ok'])
  })

  test('a board that is archived or published while another user publishes it is checked again', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ roles: '["head"]' }).where('id', '=', 'ben').execute()
    const mia = one.as('mia')
    const { id } = await create(one, { definition: sketch('s > m1 > e', { m1: { room: '!hall:school' } }) })
    const params = { id }
    const whileChecked = async (act: () => Promise<unknown>) => {
      const place = { spaceId: null, roomId: null, encryptedRooms: new Set<string>(), unknownRooms: new Set<string>() }
      const triggerPlace = async () => {
        await act()
        return { ...place, timeZone: 'UTC', now: one.clock.now() }
      }
      return codeOf(publishBoard({ ...one, triggerPlace }, await principalOf(one.db, 'ben'), params))
    }
    const save = (version: number) =>
      mia.saveBoard({ params, body: { name: 'B', version, definition: sketch('s > m1 > t1 > e', { m1: { room: '!hall:school' } }) } })
    await mia.publishBoard({ params })
    await save(1)
    expect(await whileChecked(() => mia.archiveBoard({ params }))).toBe('CONFLICT')
    expect(await mia.showBoard({ params })).toMatchObject({ status: 'archived', publishedVersion: 1 })
    expect(await whileChecked(async () => undefined)).toBe('BOARD_INVALID')
    // The same publication by both is none too many.
    await mia.publishBoard({ params })
    await save(2)
    expect(await whileChecked(() => mia.publishBoard({ params }))).toBe('ok')
  })

  test('only a draft that was never published is deleted, and only a published board is archived', async () => {
    const one = await room()
    const mia = one.as('mia')
    const [draft, active] = [{ id: (await create(one)).id }, { id: (await create(one)).id }]
    expect(await codeOf(mia.archiveBoard({ params: draft }))).toBe('INVALID_TRANSITION')
    await mia.publishBoard({ params: active })
    expect(await codeOf(mia.deleteBoard({ params: active }))).toBe('INVALID_TRANSITION')
    await mia.deleteBoard({ params: draft })
    expect(await codeOf(mia.showBoard({ params: draft }))).toBe('NOT_FOUND')
    expect((await mia.listBoards()).boards.map(({ id }) => id)).toEqual([active.id])
  })

  test('lists are paged, newest first, and filtered by status', async () => {
    const one = await room()
    const mia = one.as('mia')
    const made: string[] = []
    for (let n = 0; n < 3; n++) {
      made.unshift((await create(one, { name: `Board ${n}` })).id)
      await one.clock.advance(1000)
    }
    await mia.publishBoard({ params: { id: made[0] as string } })
    const first = await mia.listBoards({ query: { limit: 2 } })
    const rest = await mia.listBoards({ query: { limit: 2, cursor: first.nextCursor as string } })
    expect([first, rest].flatMap(({ boards }) => boards.map(({ id }) => id))).toEqual(made)
    expect(rest.nextCursor).toBeNull()
    expect((await mia.listBoards({ query: { status: 'active' } })).boards.map(({ id }) => id)).toEqual([made[0]])
  })

  test('a space must be one of the caller', async () => {
    const one = await room()
    one.spaces.set('mia', [aSpace('spc_4b')])
    expect(await codeOf(create(one, { spaceId: 'spc_4b' }))).toBe('ok')
    expect(await codeOf(create(one, { spaceId: 'spc_other' }))).toBe('VALIDATION')
  })

  test.each(['listBoards', 'createBoard', 'publishBoard'] as const)('%s needs manageBoards', async (name) => {
    const one = await room()
    const { id } = await create(one)
    const calls = {
      listBoards: () => one.as('tim').listBoards(),
      createBoard: () => one.as('tim').createBoard({ body: { name: 'Mine', definition: sound } }),
      publishBoard: () => one.as('tim').publishBoard({ params: { id } }),
    }
    expect(await codeOf(calls[name]())).toBe('FORBIDDEN')
  })

  test('another tenant sees and changes nothing', async () => {
    const one = await room()
    const olga = one.as('olga')
    const params = { id: (await create(one)).id }
    const body = { name: 'Ours', definition: sound, version: 1 }
    for (const call of [
      () => olga.showBoard({ params }),
      () => olga.saveBoard({ params, body }),
      () => olga.publishBoard({ params }),
      () => olga.archiveBoard({ params }),
      () => olga.checkBoard({ params }),
      () => olga.deleteBoard({ params }),
      () => olga.listBoardVersions({ params }),
      () => olga.showBoardVersion({ params: { ...params, version: 1 } }),
    ])
      expect(await codeOf(call())).toBe('NOT_FOUND')
    expect((await olga.listBoards()).boards).toEqual([])
    expect(await one.as('mia').showBoard({ params })).toMatchObject({ version: 1, status: 'draft' })
  })

  test.each([
    ['an unknown kind', { elements: [{ id: 'a', kind: 'robot', label: 'A', config: {} }], edges: [] }],
    ['an unknown field', { elements: [], edges: [], script: 'x' }],
    [
      'a form of 10,000 fields',
      {
        ...sound,
        elements: [
          {
            id: 'f',
            kind: 'form',
            label: 'F',
            config: {
              assignedRole: 'teacher',
              fields: Array.from({ length: 10_000 }, (_, n) => ({ name: `n${n}`, label: 'N', kind: 'text' })),
            },
          },
        ],
      },
    ],
    ['a time that is none', sketchWith({ dueAt: 'tomorrow' })],
  ])('%s is refused', async (_, definition) => {
    const one = await room()
    expect(await codeOf(create(one, { definition }))).toBe('VALIDATION')
    expect((await one.as('mia').listBoards()).boards).toEqual([])
  })

  test('a board of 2,000 elements is saved, published, exported and imported', async () => {
    const one = await room()
    const { id } = await create(one, { definition: sketch(`s > ${Array.from({ length: 1_998 }, (_, n) => `t${n}`).join(' > ')} > e`) })
    expect(await one.as('mia').publishBoard({ params: { id } })).toMatchObject({ status: 'active' })
    const bundle = await one.as('mia').exportBoard({ params: { id } })
    const theirs = await one.as('olga').importBoard({ body: { bundle } })
    expect(theirs.definition.elements).toHaveLength(2_000)
    expect((await one.as('olga').exportBoard({ params: { id: theirs.id } })).templateExport).toEqual(bundle.templateExport)
  })

  test('archived boards do not count in the limit, so that 500 of them leave room', async () => {
    const one = await room()
    const mia = one.as('mia')
    const definition = sketch('s > t1 > e')
    const { id } = await mia.createBoard({ body: { name: 'B', definition } })
    await mia.publishBoard({ params: { id } })
    await mia.archiveBoard({ params: { id } })
    const row = await one.db.selectFrom('boards').selectAll().executeTakeFirstOrThrow()
    const copies = (from: number, status: 'active' | 'archived') =>
      one.db
        .insertInto('boards')
        .values(Array.from({ length: 500 }, (_, nth) => ({ ...row, id: `brd_${from + nth}`, status })))
        .execute()
    await copies(0, 'archived')
    await mia.deleteBoard({ params: { id: (await mia.createBoard({ body: { name: 'New', definition } })).id } })
    await copies(500, 'active')
    await expect(mia.createBoard({ body: { name: 'New', definition } })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('fix: archive boards that are not needed'),
    })
    expect(await codeOf(mia.publishBoard({ params: { id } }))).toBe('CONFLICT')
  })
})

function sketchWith(config: object) {
  const [start, task, ...others] = sketch('s > t1 > e').elements
  return { ...sketch('s > t1 > e'), elements: [start, { ...task, config: { ...task?.config, ...config } }, ...others] }
}
