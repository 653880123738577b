import { type KyselyPlugin, sql } from 'kysely'
import { expect, test } from 'vitest'
import { eventStarts } from '../../../../src/core/boards/index.ts'
import { dialectOf, eventsAfter } from '../../../../src/daemon/db/index.ts'
import { lockBoard } from '../../../../src/daemon/flows/boards/boards.repo.ts'
import { fireTimers } from '../../../../src/daemon/flows/index.ts'
import { cancelRun } from '../../../../src/daemon/flows/runs/manage-run.ts'
import { unfinishedRun } from '../../../../src/daemon/flows/runs/runs.repo.ts'
import { sketch } from '../../../core/boards/sketch.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aSpace, aTasksWorld, codeOf, principalOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { aBoard, aRun, joined, storedSpace } from './a-board.ts'

/** A failure that a retry continues. */
const stopped = { code: 'TOO_MANY_STEPS', elementId: 'd1', message: 'too many' }

/** The database of the room, which counts the statements that it builds. */
function counting({ db }: TasksWorld) {
  let count = 0
  const counter: KyselyPlugin = {
    transformQuery: ({ node }) => {
      count += 1
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return { db: db.withPlugin(counter), statements: () => count }
}

onBothDialects('runs', (fresh) => {
  const room = async () => aTasksWorld(await fresh())
  const eventTypes = async ({ db }: TasksWorld) =>
    (await eventsAfter(db, { stream: 'tenant:ten_one', after: 0 }))
      .map(({ eventType }) => eventType)
      .filter((type) => !type.startsWith('board.'))
  const advance = (one: TasksWorld, who: string, id: string, body: { elementId: string; action: 'complete' | 'approve' }, key?: string) =>
    one.as(who).advanceRun({ params: { id }, body }, key === undefined ? {} : { headers: { 'idempotency-key': key } })

  test('a run opens a real task, and completing the task ends the run, in one story of events', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > e'))
    expect(run).toMatchObject({ status: 'waiting', activeElementIds: ['t1'], seq: 1, startedBy: 'anna', warnings: [], trigger: 'manual' })
    const { tasks } = await one.as('tim').listTasks({ query: { runId: run.id } })
    expect(tasks).toMatchObject([{ title: 't1', assignedRole: 'teacher', status: 'open', runId: run.id }])
    await one.as('tim').completeTask({ params: { id: tasks[0]?.id as string } })
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ status: 'completed', seq: 2, open: [], failure: null })
    expect(await eventTypes(one)).toEqual(['task.created', 'run.started', 'task.updated', 'run.advanced', 'run.completed'])
    const { entries } = await one.as('anna').runHistory({ params: { id: run.id } })
    expect(entries).toMatchObject([
      { seq: 1, type: 'start', by: 'anna', elementId: null },
      { seq: 2, type: 'complete', by: 'tim', elementId: 't1' },
    ])
  })

  test('a run that waits twice at one element ends with the last of its tasks', async () => {
    const one = await room()
    const boardId = await aBoard(one, 's > t1 > e')
    // The check refuses such a board where it can explore it.
    const definition = JSON.stringify(sketch('s > p1 > t1 > e; p1 > t1'))
    await one.db.updateTable('board_versions').set({ definition }).where('board_id', '=', boardId).execute()
    const run = await aRun(one, boardId)
    const { open } = await one.as('anna').showRun({ params: { id: run.id } })
    for (const { taskId } of open.toReversed()) await one.as('tim').completeTask({ params: { id: taskId as string } })
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ status: 'completed', open: [] })
  })

  test('timers of the same time fire as in a simulation, the oldest element first', async () => {
    const one = await room()
    const branches = Array.from({ length: 12 }, (_, nth) => `p1 > w${nth} > e`)
    const configs = { t1: { assignedRole: 'teacher', dueAt: 'PT1H' }, e2: { terminate: true } }
    const boardId = await aBoard(one, `s > p1 > t1 > e; t1 -timed_out-> e2; ${branches.join('; ')}`, configs)
    const { id } = await aRun(one, boardId)
    await one.clock.advance(3_600_000)
    await fireTimers(one)
    const { state } = await one.db.selectFrom('runs').select('state').where('id', '=', id).executeTakeFirstOrThrow()
    expect(JSON.parse(state)).toMatchObject({ status: 'completed', seq: 15 })
    const history = await one.db.selectFrom('run_history').select('input').where('run_id', '=', id).orderBy('seq').execute()
    const fired = history.slice(1).map(({ input }) => JSON.parse(input))
    expect(fired.map(({ name, tokenId }) => `${name} ${tokenId}`)).toEqual([
      'warn t1',
      ...Array.from({ length: 12 }, (_, nth) => `elapsed t${nth + 2}`),
      'due t1',
    ])
  })

  test('users list the active boards that they may start, with the variables of a start', async () => {
    const one = await room()
    const variables = [{ name: 'place', type: 'text' as const, required: true }]
    const forAll = await aBoard(one, 's > t1 > e', {}, { variables })
    await one.clock.advance(1000)
    const forHeads = await aBoard(one, 's > t1 > e', {}, { startRoles: ['teacher'] })
    const archived = await aBoard(one, 's > t1 > e')
    await one.as('mia').archiveBoard({ params: { id: archived } })
    await one.as('mia').createBoard({ body: { name: 'Draft', definition: sketch('s > e') } })
    const idsOf = async (who: string) => (await one.as(who).listStartableBoards()).boards.map(({ id }) => id)
    expect([await idsOf('anna'), await idsOf('tim')]).toEqual([[forAll], [forHeads, forAll]])
    expect((await one.as('anna').listStartableBoards()).boards).toEqual([
      { id: forAll, name: 'Crisis', description: '', spaceId: null, acceptsSpace: true, variables },
    ])
    const first = await one.as('tim').listStartableBoards({ query: { limit: 1 } })
    expect(await one.as('tim').listStartableBoards({ query: { limit: 1, cursor: first.nextCursor as string } })).toMatchObject({
      boards: [{ id: forAll }],
    })
  })

  test('a page of boards to start ends after 8 million characters of definitions', async () => {
    const one = await room()
    const ids: string[] = []
    for (let nth = 0; nth < 3; nth++) {
      ids.unshift(await aBoard(one, 's > t1 > e'))
      await one.clock.advance(1000)
    }
    await one.db
      .updateTable('board_versions')
      .set({ definition: sql`definition || ${' '.repeat(4_000_000)}` })
      .execute()
    const { boards, nextCursor } = await one.as('tim').listStartableBoards()
    expect(boards.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    const next = await one.as('tim').listStartableBoards({ query: { cursor: nextCursor as string } })
    expect([next.boards.map(({ id }) => id), next.nextCursor]).toEqual([ids.slice(2), null])
  })

  test('a board of a private space is started by its members, or by the roles that it names, to whom the space stays unknown', async () => {
    const one = await room()
    await storedSpace(one, 'spc_crisis')
    await joined(one, 'mia', 'spc_crisis')
    const boardFor = async (startRoles: readonly string[]) => {
      const definition = sketch('s > t1 > e', {}, { startRoles })
      const { id } = await one.as('mia').createBoard({ body: { name: 'Crisis', spaceId: 'spc_crisis', definition } })
      await one.as('mia').publishBoard({ params: { id } })
      await one.clock.advance(1000)
      return id
    }
    const [forMembers, alarm] = [await boardFor([]), await boardFor(['teacher'])]
    const shown = async (who: string) => (await one.as(who).listStartableBoards()).boards.map(({ id, spaceId }) => ({ id, spaceId }))
    expect(await shown('anna')).toEqual([{ id: forMembers, spaceId: 'spc_crisis' }])
    expect(await shown('tim')).toEqual([{ id: alarm, spaceId: null }])
    expect((await one.as('tim').listStartableBoards()).boards).toMatchObject([{ acceptsSpace: false }])
    const start = (who: string, id: string) => codeOf(one.as(who).startRun({ params: { id }, body: {} }))
    expect([await start('tim', forMembers), await start('tim', alarm)]).toEqual(['FORBIDDEN', 'ok'])
    expect([await start('anna', forMembers), await start('anna', alarm)]).toEqual(['ok', 'FORBIDDEN'])
    const refusal = (who: string, id: string) =>
      one
        .as(who)
        .startRun({ params: { id }, body: {} })
        .catch(({ message }) => message)
    for (const id of [forMembers, alarm]) {
      const said = await refusal('ben', id)
      expect(said).toContain(id)
      expect(said).not.toMatch(/Crisis|teacher/)
    }
    expect(await refusal('anna', alarm)).toBe('Runs of "Crisis" are started by these roles: teacher.')
    await one.db.updateTable('spaces').set({ visibility: 'TENANT' }).execute()
    expect(await refusal('ben', alarm)).toBe('Runs of "Crisis" are started by these roles: teacher.')
    expect(await shown('tim')).toEqual([
      { id: alarm, spaceId: 'spc_crisis' },
      { id: forMembers, spaceId: 'spc_crisis' },
    ])
  })

  test('completing the element completes its task', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > e'))
    expect(await advance(one, 'tim', run.id, { elementId: 't1', action: 'complete' })).toMatchObject({ status: 'completed' })
    expect((await one.as('tim').listTasks()).tasks).toMatchObject([{ status: 'done' }])
  })

  test('the due date of a task of a run is that of its timers, so only its title can be changed', async () => {
    const one = await room()
    await aRun(one, await aBoard(one, 's > t1 > e', { t1: { dueAt: 'PT1H' } }))
    const [task] = (await one.as('mia').listTasks()).tasks
    const change = (body: object) => one.as('mia').changeTask({ params: { id: task?.id as string }, body })
    await expect(change({ dueAt: '2026-02-01T00:00:00Z' })).rejects.toMatchObject({ code: 'INVALID_TRANSITION' })
    expect(await change({ title: 'Call', dueAt: task?.dueAt })).toMatchObject({ title: 'Call', dueAt: task?.dueAt })
  })

  test('a user cannot cancel the task of a run; the run cancels it', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > e'))
    const id = (await one.as('tim').listTasks()).tasks[0]?.id as string
    expect(await codeOf(one.as('mia').cancelTask({ params: { id } }))).toBe('INVALID_TRANSITION')
    expect(await one.as('mia').cancelRun({ params: { id: run.id } })).toMatchObject({ status: 'failed', failure: { code: 'CANCELLED' } })
    expect((await one.as('tim').showTask({ params: { id } })).status).toBe('cancelled')
    expect(await codeOf(advance(one, 'tim', run.id, { elementId: 't1', action: 'complete' }))).toBe('RUN_ENDED')
  })

  test('one key starts one run and has one answer, also after the run continued', async () => {
    const one = await room()
    const id = await aBoard(one, 's > t1 > e')
    const [first, second] = await Promise.all([aRun(one, id, { key: 'k' }), aRun(one, id, { key: 'k' })])
    expect(second).toEqual(first)
    await advance(one, 'tim', first.id, { elementId: 't1', action: 'complete' })
    expect(await aRun(one, id, { key: 'k' })).toEqual(first)
    expect(await codeOf(aRun(one, id, { key: 'k', spaceId: null, variables: { other: 1 } }))).toBe('KEY_REUSED')
    const other = await one.as('ben').startRun({ params: { id }, body: { key: 'k' } })
    expect(other.id).not.toBe(first.id)
    await one.as('mia').archiveBoard({ params: { id } })
    expect(await aRun(one, id, { key: 'k' })).toEqual(first)
  })

  test('each refusal has its code and changes nothing', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > c1 > f1 > e'))
    const as = (who: string, body: object) =>
      codeOf(one.as(who).advanceRun({ params: { id: run.id }, body: { elementId: 't1', action: 'complete', ...body } as never }))
    expect(await as('anna', {})).toBe('FORBIDDEN')
    expect(await as('ben', {})).toBe('NOT_FOUND')
    expect(await as('olga', {})).toBe('NOT_FOUND')
    expect(await as('tim', { expectedSeq: 7 })).toBe('RUN_CHANGED')
    expect(await as('tim', { elementId: 'c1', action: 'approve' })).toBe('ELEMENT_NOT_ACTIVE')
    expect(await as('tim', { elementId: 'nowhere' })).toBe('NOT_FOUND')
    expect(await as('tim', { action: 'submit', data: {} })).toBe('INVALID_TRANSITION')
    expect(await as('tim', { action: 'skip' })).toBe('INVALID_TRANSITION')
    expect(await as('tim', { action: 'dance' })).toBe('VALIDATION')
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ seq: 1, activeElementIds: ['t1'] })
  })

  test('an action with a key happens once, and its answer stays the same', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > t2 > e'))
    const complete = () => advance(one, 'tim', run.id, { elementId: 't1', action: 'complete' }, 'k1')
    const [first, second] = await Promise.all([complete(), complete()])
    expect(second).toEqual(first)
    expect(first).toMatchObject({ seq: 2, activeElementIds: ['t2'] })
    expect(await codeOf(advance(one, 'tim', run.id, { elementId: 't2', action: 'complete' }, 'k1'))).toBe('KEY_REUSED')
    await advance(one, 'tim', run.id, { elementId: 't2', action: 'complete' }, 'k2')
    expect(await complete()).toEqual(first)
  })

  test('a run starts while its board is being published', async () => {
    const one = await room()
    if (dialectOf(one.db) === 'sqlite') return // one writer
    const id = await aBoard(one, 's > t1 > e')
    await one.db.transaction().execute(async (tx) => {
      await lockBoard(tx, { tenantId: 'ten_one', id })
      expect(await aRun(one, id)).toMatchObject({ status: 'waiting' })
    })
  })

  test('only active boards start runs, in the version that was published', async () => {
    const one = await room()
    const mia = one.as('mia')
    const id = await aBoard(one, 's > t1 > e')
    const params = { id }
    const run = await aRun(one, id)
    const { definition } = await mia.showBoard({ params })
    const changed = { ...definition, elements: definition.elements.map((e) => (e.id === 't1' ? { ...e, label: 'Other' } : e)) }
    await mia.saveBoard({ params, body: { name: 'Crisis', definition: changed, version: 1 } })
    expect(await aRun(one, id)).toMatchObject({ boardVersion: 1 })
    await mia.publishBoard({ params })
    expect(await aRun(one, id)).toMatchObject({ boardVersion: 2 })
    await mia.archiveBoard({ params })
    expect(await codeOf(aRun(one, id))).toBe('BOARD_NOT_ACTIVE')
    expect(await advance(one, 'tim', run.id, { elementId: 't1', action: 'complete' })).toMatchObject({
      status: 'completed',
      boardVersion: 1,
    })
    const draft = await mia.createBoard({ body: { name: 'Draft', definition } })
    expect(await codeOf(aRun(one, draft.id))).toBe('BOARD_NOT_ACTIVE')
  })

  test('runs are in the space of the published version, whatever is saved since', async () => {
    const one = await room()
    const mia = one.as('mia')
    for (const id of ['spc_4b', 'spc_5c']) await storedSpace(one, id)
    await joined(one, 'mia', 'spc_4b', 'spc_5c')
    const id = await aBoard(one, 's > r1 > t1 > e')
    const params = { id }
    const { definition } = await mia.showBoard({ params })
    const save = (spaceId: string | null, version: number) =>
      mia.saveBoard({ params, body: { name: 'Crisis', definition, spaceId, version } })
    await save('spc_4b', 1)
    expect(await codeOf(aRun(one, id))).toBe('VALIDATION')
    expect(await aRun(one, id, { spaceId: 'spc_5c' })).toMatchObject({ spaceId: 'spc_5c' })
    await mia.publishBoard({ params })
    await save('spc_5c', 2)
    const run = await aRun(one, id)
    expect(run).toMatchObject({ spaceId: 'spc_4b' })
    const isUnfinished = async (spaceId: string, runId: string | null) =>
      (await one.db.transaction().execute((tx) => unfinishedRun(tx, { tenantId: 'ten_one', boardId: id, spaceId, runId }))) !== undefined
    expect([await isUnfinished('spc_4b', null), await isUnfinished('spc_none', null), await isUnfinished('spc_none', run.id)]).toEqual([
      ...[true, false, true],
    ])
    expect(await codeOf(aRun(one, id, { spaceId: 'spc_5c' }))).toBe('VALIDATION')
    await mia.publishBoard({ params })
    expect(await aRun(one, id)).toMatchObject({ spaceId: 'spc_5c' })
  })

  test('each event of a run names its space, so it starts no run of a board in another space', async () => {
    const one = await room()
    await storedSpace(one, 'spc_4b')
    await joined(one, 'mia', 'spc_4b')
    const run = await aRun(one, await aBoard(one, 's > c1 > e', { c1: { dueAt: 'PT10H' } }), { spaceId: 'spc_4b' })
    await one.clock.advance(9 * 3_600_000)
    await fireTimers(one)
    await one.as('mia').cancelRun({ params: { id: run.id } })
    const events = (await eventsAfter(one.db, { stream: 'tenant:ten_one', after: 0 })).filter(
      ({ eventType }) => !eventType.startsWith('board.') && !eventType.startsWith('task.'),
    )
    expect(events.map(({ eventType }) => eventType)).toEqual(
      expect.arrayContaining(['run.started', 'checkpoint.created', 'sla.warning', 'checkpoint.resolved', 'run.failed']),
    )
    for (const event of events) {
      expect(event.payload).toMatchObject({ runId: run.id, spaceId: 'spc_4b' })
      const trigger = { id: 'x', kind: 'event', eventType: event.eventType, expression: null } as const
      expect([eventStarts(trigger, 'spc_5c', event), eventStarts(trigger, 'spc_4b', event)]).toEqual([false, true])
    }
  })

  test('a board may name the roles that start it', async () => {
    const one = await room()
    const id = await aBoard(one, 's > t1 > e', {}, { startRoles: ['teacher'] })
    expect(await codeOf(aRun(one, id))).toBe('FORBIDDEN')
    expect(await codeOf(one.as('tim').startRun({ params: { id }, body: {} }))).toBe('ok')
  })

  test('variables are checked at the start, and so is the space', async () => {
    const one = await room()
    one.spaces.set('anna', [aSpace('spc_4b')])
    const id = await aBoard(one, 's > t1 > e', {}, { variables: [{ name: 'people', type: 'number', required: true }] })
    expect(await codeOf(aRun(one, id))).toBe('VALIDATION')
    expect(await codeOf(aRun(one, id, { variables: { people: 'many' } }))).toBe('VALIDATION')
    expect(await codeOf(aRun(one, id, { variables: { people: 1, more: 1 } }))).toBe('VALIDATION')
    expect(await codeOf(aRun(one, id, { variables: { people: 1 }, spaceId: 'spc_5c' }))).toBe('VALIDATION')
    const run = await aRun(one, id, { variables: { people: 1 }, spaceId: 'spc_4b' })
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ spaceId: 'spc_4b', context: { people: 1 } })
    const reporting = await aBoard(one, 's > r1 > e')
    expect(await codeOf(aRun(one, reporting))).toBe('VALIDATION')
    const bindings = { roles: {}, rooms: { hall: 'space' } }
    const telling = await aBoard(one, 's > m1 > e', { m1: { room: { room: 'hall' } } }, { bindings })
    expect(await codeOf(aRun(one, telling))).toBe('VALIDATION')
  })

  test('a checkpoint needs different users who still have the role, and warns if there are too few', async () => {
    const one = await room()
    const id = await aBoard(one, 's > c1 > e', { c1: { assignedRole: 'teacher', requiredApprovals: 2 } })
    const run = await aRun(one, id)
    expect(run.warnings).toMatchObject([{ elementId: 'c1', code: 'TOO_FEW_APPROVERS' }])
    expect(run.warnings[0]?.message).toBe('"c1" needs 2 approvals, but only 1 active user can give one.')
    await one.db.updateTable('users').set({ roles: '["teacher"]' }).where('id', '=', 'ben').execute()
    const approve = (who: string) => advance(one, who, run.id, { elementId: 'c1', action: 'approve' })
    expect((await one.as('tim').listCheckpoints()).checkpoints).toMatchObject([{ runId: run.id, elementId: 'c1', approvals: 0 }])
    expect(await approve('tim')).toMatchObject({ status: 'waiting', seq: 2 })
    expect(await approve('tim')).toMatchObject({ status: 'waiting', seq: 2 })
    expect((await one.as('tim').listCheckpoints()).checkpoints).toMatchObject([{ approvals: 1, requiredApprovals: 2 }])
    await one.db.updateTable('users').set({ status: 'disabled' }).where('id', '=', 'tim').execute()
    expect(await approve('ben')).toMatchObject({ status: 'waiting', seq: 3 })
    await one.db.updateTable('users').set({ roles: '["teacher"]' }).where('id', '=', 'anna').execute()
    expect(await codeOf(approve('anna'))).toBe('FORBIDDEN')
    await one.db.updateTable('users').set({ roles: '["teacher","head"]' }).where('id', '=', 'mia').execute()
    expect(await approve('mia')).toMatchObject({ status: 'completed' })
    expect(await eventTypes(one)).toContain('checkpoint.resolved')
    expect((await one.as('ben').listCheckpoints()).checkpoints).toEqual([])
  })

  test('of several submissions at once one counts', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > f1 > e'))
    const submit = (people: number) =>
      one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data: { people } } })
    const ends = await Promise.allSettled([2, 3, 4, 5].map(submit))
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected'])
    for (const end of ends) if (end.status === 'rejected') expect(await codeOf(Promise.reject(end.reason))).toBe('RUN_ENDED')
    const { entries } = await one.as('anna').runHistory({ params: { id: run.id } })
    expect(entries.map(({ seq, type }) => `${seq} ${type}`)).toEqual(['1 start', '2 submit'])
    expect(await eventTypes(one)).toEqual(['run.started', 'run.advanced', 'run.completed'])
  })

  test('a run says which fields its form has, and what can be skipped', async () => {
    const one = await room()
    const fields = [
      { name: 'place', label: 'Place', kind: 'choice', required: true, options: ['hall', 'yard'] },
      { name: 'people', label: 'People', kind: 'number', required: false, max: 30 },
    ]
    const form = { assignedRole: 'teacher', skippable: true, fields }
    const run = await aRun(one, await aBoard(one, 's > p1; p1 > f1 > e1; p1 > t1 > e2', { f1: form }))
    const { open } = await one.as('tim').showRun({ params: { id: run.id } })
    expect(open.find(({ elementId }) => elementId === 'f1')).toMatchObject({ skippable: true, fields })
    expect(open.find(({ elementId }) => elementId === 't1')).toMatchObject({ skippable: false, fields: [] })
  })

  test('a form sets variables; an unknown field is named and moves nothing', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > f1 > d1; d1 -vars.people > 10-> t1 > e; d1 -else-> e2'))
    const submit = (data: Record<string, unknown>) =>
      one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data } })
    await expect(submit({ people: 12, colour: 'red' })).rejects.toMatchObject({
      code: 'VALIDATION',
      details: [{ path: 'data.colour', reason: 'is not a field of this form' }],
    })
    expect(await submit({ people: 12 })).toMatchObject({ activeElementIds: ['t1'], seq: 2 })
  })

  test('phones notify of a checkpoint, and of a form of others than those who have the app open', async () => {
    const one = await room()
    const notices = async () => {
      const jobs = await one.db.selectFrom('jobs').select('payload').where('topic', 'like', 'notices.%').orderBy('id').execute()
      await one.db.deleteFrom('jobs').where('topic', 'like', 'notices.%').execute()
      return jobs.map(({ payload }) => {
        const { kind, role, by, userId } = JSON.parse(payload)
        return role === undefined ? [kind, userId] : [kind, role, by]
      })
    }
    const own = { assignedRole: undefined, assignedTo: 'starter' }
    const forms = { f1: own, f2: { assignedRole: 'teacher' }, f3: { assignedRole: 'teacher' }, f4: own }
    const run = await aRun(one, await aBoard(one, 's > f1 > f2 > f3 > c1 > f4 > e', forms))
    const step = (who: string, elementId: string, action: 'submit' | 'approve' = 'submit') =>
      one
        .as(who)
        .advanceRun({ params: { id: run.id }, body: { elementId, action, ...(action === 'submit' ? { data: { people: 1 } } : {}) } })
    expect(await notices()).toEqual([])
    await step('anna', 'f1')
    expect(await notices()).toEqual([['task', 'teacher', null]])
    await step('tim', 'f2')
    expect(await notices()).toEqual([])
    await step('tim', 'f3')
    expect(await notices()).toEqual([['checkpoint', 'school-principal', null]])
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', 'ben').execute()
    await step('ben', 'c1', 'approve')
    expect(await notices()).toEqual([['task', 'anna']])
    await aRun(one, await aBoard(one, 's > f1 > e', { f1: { assignedRole: 'teacher' } }))
    expect(await notices()).toEqual([['task', 'teacher', 'anna']])
  })

  test('readers are those with a part in the run', async () => {
    const one = await room()
    const id = await aBoard(one, 's > t1 > e')
    const run = await aRun(one, id)
    const ids = async (who: string) => (await one.as(who).listRuns({ params: { id } })).runs.map((each) => each.id)
    for (const who of ['anna', 'tim', 'mia']) expect(await ids(who), who).toEqual([run.id])
    expect(await ids('ben')).toEqual([])
    expect(await codeOf(one.as('ben').showRun({ params: { id: run.id } }))).toBe('NOT_FOUND')
    expect(await codeOf(one.as('ben').runHistory({ params: { id: run.id } }))).toBe('NOT_FOUND')
    expect(await codeOf(one.as('anna').cancelRun({ params: { id: run.id } }))).toBe('FORBIDDEN')
    for (const call of [one.as('olga').cancelRun, one.as('olga').retryRun, one.as('olga').showRun])
      expect(await codeOf(call({ params: { id: run.id } }))).toBe('NOT_FOUND')
    expect(await codeOf(one.as('olga').startRun({ params: { id }, body: {} }))).toBe('NOT_FOUND')
  })

  test('names of roles are compared with the roles of a run alone', async () => {
    const one = await room()
    const id = await aBoard(one, 's > t1 > e')
    const run = await aRun(one, id)
    const readers = JSON.stringify({ users: ['anna'], roles: ['roles'] })
    await one.db.updateTable('runs').set({ readers }).execute()
    const listed = async (...roles: string[]) => {
      await one.db
        .updateTable('users')
        .set({ roles: JSON.stringify(roles) })
        .where('id', '=', 'ben')
        .execute()
      return (await one.as('ben').listRuns({ params: { id } })).runs.map((each) => each.id)
    }
    for (const roles of [['users'], ['anna'], ['role'], []]) expect(await listed(...roles), roles.join()).toEqual([])
    expect(await listed('users', 'roles')).toEqual([run.id])
  })

  test('timers warn at 80 % once, escalate at the end, and a timer element goes on by itself', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > w1 > e', { t1: { dueAt: 'PT10H', escalationRole: 'head' } }))
    expect(await fireTimers(one)).toBe(0)
    await one.clock.advance(8 * 3_600_000)
    expect(await fireTimers(one)).toBe(1)
    expect(await fireTimers(one)).toBe(0)
    expect((await eventTypes(one)).filter((type) => type === 'sla.warning')).toHaveLength(1)
    await one.clock.advance(2 * 3_600_000)
    await fireTimers(one)
    const { tasks } = await one.as('mia').listTasks()
    expect(tasks).toMatchObject([{ escalationLevel: 1, assignedRole: 'head' }])
    await one.as('mia').completeTask({ params: { id: tasks[0]?.id as string } })
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ status: 'running', activeElementIds: ['w1'] })
    await one.clock.advance(3_600_000)
    await fireTimers(one)
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ status: 'completed' })
    expect(await one.db.selectFrom('run_timers').selectAll().execute()).toEqual([])
  })

  test('a run that cannot be stepped does not block the timers of others, however many it has', async () => {
    const one = await room()
    const id = await aBoard(one, 's > t1 > e', { t1: { dueAt: 'PT1H' } })
    const [broken, other] = [await aRun(one, id), await aRun(one, id)]
    await one.db.updateTable('runs').set({ board_version: 99 }).where('id', '=', broken.id).execute()
    const at = (n: number) => new Date(one.clock.now().getTime() + n).toISOString()
    const timers = Array.from({ length: 1_100 }, (_, n) => ({ run_id: broken.id, token_id: `x${n}`, name: 'due' as const, due_at: at(n) }))
    await one.db
      .insertInto('run_timers')
      .values(timers.map((timer) => ({ ...timer, tenant_id: 'ten_one', paused: 0 })))
      .execute()
    await one.clock.advance(2 * 3_600_000)
    expect(await fireTimers(one)).toBe(1)
    const left = await one.db.selectFrom('run_timers').select('run_id').where('run_id', '=', other.id).execute()
    expect(left).toEqual([])
  })

  test('timers of a suspended tenant fire when it is resumed', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > e', { t1: { dueAt: 'PT1H' } }))
    const status = (status: 'active' | 'suspended') => one.db.updateTable('tenants').set({ status }).where('id', '=', 'ten_one').execute()
    await status('suspended')
    await one.clock.advance(2 * 3_600_000)
    expect(await fireTimers(one)).toBe(0)
    expect(await one.db.selectFrom('alerts').select('kind').execute()).toEqual([])
    await status('active')
    expect(await fireTimers(one)).toBe(1)
    expect((await one.as('mia').listTasks({ query: { runId: run.id } })).tasks).toMatchObject([{ escalationLevel: 1 }])
  })

  /** A run that waits for nine timers, which are due. */
  const nineTimers = async (one: TasksWorld) => {
    const branches = Array.from({ length: 9 }, (_, n) => `p1 > w${n} > j1`).join(';')
    const run = await aRun(one, await aBoard(one, `s > p1; ${branches}; j1 > e`))
    await one.clock.advance(3_600_000)
    return run
  }

  test('timers of one run that take long fire in several rounds, so that others get the database', async () => {
    const one = await room()
    const run = await nineTimers(one)
    let ms = 0
    const clock = { ...one.clock, monotonicMs: () => (ms += 100) }
    const left = async () => (await one.db.selectFrom('run_timers').select('token_id').execute()).length
    expect([await fireTimers({ ...one, clock }), await left()]).toEqual([1, 7])
    for (let round = 1; round <= 4; round++) expect(await fireTimers({ ...one, clock })).toBe(1)
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ status: 'completed' })
  })

  test('other work of the daemon runs between the timers of one run', async () => {
    const one = await room()
    await nineTimers(one)
    let turns = 0
    let next = setImmediate(function count() {
      turns += 1
      next = setImmediate(count)
    })
    await fireTimers(one)
    clearImmediate(next)
    expect(turns).toBeGreaterThanOrEqual(9)
  })

  test('a failed run keeps its timers without firing them, and a retry goes on', async () => {
    const one = await room()
    const text = 's > p1 > t1 > d1 -has(vars.size) && int(vars.size) > 10-> e1; d1 -else-> e2; p1 > t2 > e3'
    const id = await aBoard(one, text, { t2: { dueAt: 'PT1H' } }, { variables: [{ name: 'size', type: 'text' }] })
    const run = await aRun(one, id, { variables: { size: 'large' } })
    expect(await advance(one, 'tim', run.id, { elementId: 't1', action: 'complete' })).toMatchObject({
      status: 'failed',
      failure: { code: 'EXPRESSION_FAILED', elementId: 'd1' },
    })
    await one.clock.advance(2 * 3_600_000)
    expect(await fireTimers(one)).toBe(0)
    const task = (await one.as('tim').listTasks({ query: { status: 'open' } })).tasks[0]?.id as string
    expect(await codeOf(one.as('tim').completeTask({ params: { id: task } }))).toBe('RUN_FAILED')
    expect(await codeOf(advance(one, 'tim', run.id, { elementId: 't2', action: 'complete' }))).toBe('RUN_FAILED')
    const state = await one.db.selectFrom('runs').select('state').executeTakeFirstOrThrow()
    const corrected = { ...JSON.parse(state.state), variables: { size: '20' }, failure: stopped }
    await one.db
      .updateTable('runs')
      .set({ state: JSON.stringify(corrected) })
      .execute()
    expect(await one.as('mia').retryRun({ params: { id: run.id } })).toMatchObject({ status: 'waiting', failure: null })
    expect(await fireTimers(one)).toBe(1)
    expect(await one.as('tim').completeTask({ params: { id: task } })).toMatchObject({ escalationLevel: 1, status: 'done' })
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ status: 'completed' })
    const audited = await one.db.selectFrom('audit').select('action').execute()
    expect(audited.map(({ action }) => action)).toContain('run.retried')
  })

  test('a retry that fails again keeps the timers that it set until the next retry', async () => {
    const one = await room()
    const text = 's > p1 > w1 > e1; p1 > d1 -has(vars.size) && int(vars.size) > 10-> e2; d1 -else-> e3'
    const id = await aBoard(one, text, {}, { variables: [{ name: 'size', type: 'text' }] })
    const run = await aRun(one, id, { variables: { size: 'large' } })
    const change = async (changes: object) => {
      const { state } = await one.db.selectFrom('runs').select('state').executeTakeFirstOrThrow()
      const changed = JSON.stringify({ ...JSON.parse(state), ...changes })
      await one.db.updateTable('runs').set({ state: changed }).execute()
    }
    const { definition } = await one.as('mia').showBoard({ params: { id } })
    const first = definition.edges.find(({ target }) => target === 'p1')?.id
    await one.db.deleteFrom('run_timers').execute()
    expect(await codeOf(one.as('mia').retryRun({ params: { id: run.id } }))).toBe('RUN_FAILED')
    await change({ tokens: [], pending: [first], failure: stopped })
    expect(await one.as('mia').retryRun({ params: { id: run.id } })).toMatchObject({ status: 'failed', activeElementIds: ['w1'] })
    await one.clock.advance(30 * 86_400_000)
    expect(await fireTimers(one)).toBe(0)
    await change({ variables: { size: '20' }, failure: stopped })
    const alerts = () => one.db.selectFrom('alerts').select('status').where('kind', '=', 'run_stalled').orderBy('id').execute()
    expect(await alerts()).toEqual([{ status: 'closed' }, { status: 'open' }])
    expect(await one.as('mia').retryRun({ params: { id: run.id } })).toMatchObject({ failure: null })
    expect(await alerts()).toEqual([{ status: 'closed' }, { status: 'closed' }])
    expect(await fireTimers(one)).toBe(1)
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ status: 'completed' })
  })

  test('cancelling and skipping are audited, and only an element that says so is skipped', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > t2 > e', { t1: { skippable: true } }))
    const skip = (elementId: string) => one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId, action: 'skip' } })
    expect(await skip('t1')).toMatchObject({ activeElementIds: ['t2'] })
    expect(await codeOf(skip('t2'))).toBe('INVALID_TRANSITION')
    await one.as('mia').cancelRun({ params: { id: run.id } })
    const audited = await one.db.selectFrom('audit').select('action').execute()
    expect(audited.map(({ action }) => action)).toEqual(['board.published', 'run.skipped', 'run.cancelled'])
  })

  test('the end of the time of a run escalates its elements together: their number adds no statements', async () => {
    const one = await room()
    const statements = async (tasks: number) => {
      const ids = ['f', 't'].flatMap((kind) => Array.from({ length: tasks }, (_, n) => `${kind}${n}`))
      const roles = Object.fromEntries(ids.map((id, n) => [id, { escalationRole: n === 1 ? 'school-principal' : 'head' }]))
      const board = await aBoard(one, ['s > p1', ...ids.map((id) => `p1 > ${id} > j1`), 'j1 > e'].join('; '), roles, { sla: 'PT1H' })
      const run = await aRun(one, board)
      await one.clock.advance(3_600_001)
      const counter = counting(one)
      expect(await fireTimers({ ...one, db: counter.db })).toBe(1)
      const rows = one.db.selectFrom('tasks').select(['title', 'role_key', 'escalation_level']).where('run_id', '=', run.id)
      const count = async (title: string, level: number) =>
        (await rows.where('title', 'like', title).where('escalation_level', '=', level).execute()).length
      expect([await count('t%', 1), await count('Overdue: f%', 0)]).toEqual([tasks, tasks])
      await one.as('mia').cancelRun({ params: { id: run.id } })
      return counter.statements()
    }
    expect(await statements(300)).toBe(await statements(3))
  })

  test('a cancel ends the tasks of a run together: their number adds no statements', async () => {
    const one = await room()
    const statements = async (tasks: number) => {
      const branches = Array.from({ length: tasks }, (_, n) => `p1 > t${n} > j1`).join('; ')
      const run = await aRun(one, await aBoard(one, `s > p1; ${branches}; j1 > e`))
      const counter = counting(one)
      await cancelRun({ ...one, db: counter.db }, await principalOf(one.db, 'mia'), { id: run.id })
      const rows = await one.db.selectFrom('tasks').select(['status', 'updated_at']).where('run_id', '=', run.id).execute()
      expect(rows).toEqual(Array(tasks).fill({ status: 'cancelled', updated_at: one.clock.now().toISOString() }))
      return counter.statements()
    }
    expect(await statements(300)).toBe(await statements(3))
    expect(await one.db.selectFrom('events').select('seq').where('event_type', '=', 'task.updated').execute()).toHaveLength(303)
  })

  test('a rejection inside a branch ends the run with the tasks, checkpoints and timers of the other branches', async () => {
    const one = await room()
    const text = 's > p1; p1 > c1 > j1; p1 > t1 > j1; p1 > c2 > j1; p1 > w1 > j1; j1 > e'
    const run = await aRun(one, await aBoard(one, text, { c1: { assignedRole: 'teacher' }, t1: { dueAt: 'PT1H' } }))
    const rejected = await one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'c1', action: 'reject' } })
    expect(rejected).toMatchObject({ status: 'failed', failure: { code: 'REJECTED', elementId: 'c1' }, activeElementIds: [] })
    expect((await one.as('mia').listTasks()).tasks).toMatchObject([{ status: 'cancelled' }])
    for (const table of ['run_elements', 'run_timers'] as const) expect(await one.db.selectFrom(table).selectAll().execute()).toEqual([])
    expect(await eventTypes(one)).toEqual(expect.arrayContaining(['checkpoint.resolved', 'run.failed']))
    expect(await codeOf(one.as('mia').retryRun({ params: { id: run.id } }))).toBe('RUN_ENDED')
  })

  test('a task of a run is completed by its role, its assignee and manageBoards, each once, and cancelled by none', async () => {
    const one = await room()
    const id = await aBoard(one, 's > t1 > e')
    const paths = {
      role: (taskId: string) => one.as('tim').completeTask({ params: { id: taskId } }),
      assignee: async (taskId: string) => {
        await one.as('mia').assignTask({ params: { id: taskId }, body: { assigneeId: 'ben' } })
        await one.as('ben').completeTask({ params: { id: taskId } })
      },
      manager: (taskId: string) => one.as('mia').completeTask({ params: { id: taskId } }),
      element: (_: string, runId: string) => advance(one, 'mia', runId, { elementId: 't1', action: 'complete' }),
    }
    for (const [path, complete] of Object.entries(paths)) {
      const run = await aRun(one, id)
      const { taskId } = (await one.as('mia').showRun({ params: { id: run.id } })).open[0] as { taskId: string }
      for (const who of ['tim', 'mia'])
        expect(await codeOf(one.as(who).cancelTask({ params: { id: taskId } })), who).toMatch(/INVALID_TRANSITION|FORBIDDEN/)
      await complete(taskId, run.id)
      const ended = { status: 'completed', seq: 2 }
      expect(await one.as('anna').showRun({ params: { id: run.id } }), path).toMatchObject(ended)
      await codeOf(one.as('mia').completeTask({ params: { id: taskId } }))
      expect(await codeOf(one.as('mia').cancelTask({ params: { id: taskId } })), path).toBe('INVALID_TRANSITION')
      expect(await one.as('anna').showRun({ params: { id: run.id } }), path).toMatchObject(ended)
      expect(await one.as('mia').showTask({ params: { id: taskId } }), path).toMatchObject({ status: 'done' })
    }
  })

  test('a task that was escalated or assigned by hand is completed by its new owner alone, whichever path is taken', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > t2 > e'))
    const openTask = async () => (await one.as('anna').showRun({ params: { id: run.id } })).open[0]
    const [first, complete] = [await openTask(), { elementId: 't1', action: 'complete' } as const]
    await one.as('mia').escalateTask({ params: { id: first?.taskId as string }, body: { assignedRole: 'member' } })
    expect(await openTask()).toMatchObject({ elementId: 't1', assignedRole: 'member' })
    await expect(advance(one, 'tim', run.id, complete)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('role member'),
    })
    expect(await advance(one, 'anna', run.id, complete)).toMatchObject({ activeElementIds: ['t2'] })
    const second = await openTask()
    await one.as('mia').assignTask({ params: { id: second?.taskId as string }, body: { assigneeId: 'ben' } })
    const also = { elementId: 't2', action: 'complete' } as const
    await expect(advance(one, 'tim', run.id, also)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('its assignee'),
    })
    // Ben has no part in the run, only the task.
    expect(await codeOf(advance(one, 'ben', run.id, also))).toBe('NOT_FOUND')
    await one.as('ben').completeTask({ params: { id: second?.taskId as string } })
    expect(await one.as('anna').showRun({ params: { id: run.id } })).toMatchObject({ status: 'completed' })
  })

  test('an approval whose user lost the role, was disabled or submitted a form since is not counted', async () => {
    const one = await room()
    const roles = '["school-principal","teacher"]'
    await one.db.updateTable('users').set({ roles }).where('id', 'in', ['ben', 'tim', 'mia']).execute()
    const withRoles = (roles: string[]) =>
      one.db
        .updateTable('users')
        .set({ roles: JSON.stringify(roles) })
        .where('id', '=', 'mia')
        .execute()
    await withRoles(['head', 'school-principal'])
    const id = await aBoard(one, 's > p1; p1 > c1 > e1; p1 > f1 > e2', { c1: { requiredApprovals: 5 } })
    const run = await aRun(one, id)
    for (const who of ['ben', 'tim', 'mia']) await advance(one, who, run.id, { elementId: 'c1', action: 'approve' })
    const counted = async () => {
      const { open } = await one.as('ben').showRun({ params: { id: run.id } })
      const { checkpoints } = await one.as('ben').listCheckpoints()
      return [...open, ...checkpoints].flatMap(({ approvals }) => approvals ?? [])
    }
    expect(await counted()).toEqual([3, 3])
    await withRoles(['head'])
    expect(await counted()).toEqual([2, 2])
    await one.db.updateTable('users').set({ status: 'disabled' }).where('id', '=', 'tim').execute()
    expect(await counted()).toEqual([1, 1])
    await one.as('ben').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data: { people: 1 } } })
    expect(await counted()).toEqual([0, 0])
  })

  test('approve, reject and complete take no values, which would be lost', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', 'ben').execute()
    const run = await aRun(one, await aBoard(one, 's > c1 > t1 > e'))
    const act = (who: string, body: Parameters<ReturnType<TasksWorld['as']>['advanceRun']>[0]['body']) =>
      one.as(who).advanceRun({ params: { id: run.id }, body })
    const data = { comment: 'no room is free' }
    for (const action of ['approve', 'reject'] as const) {
      const refused = await act('ben', { elementId: 'c1', action, data }).catch((error) => error)
      expect(refused).toMatchObject({ code: 'VALIDATION', details: [{ path: 'data' }] })
    }
    expect((await one.as('anna').showRun({ params: { id: run.id } })).seq).toBe(run.seq)
    await act('ben', { elementId: 'c1', action: 'approve', data: {} })
    expect(await codeOf(act('tim', { elementId: 't1', action: 'complete', data }))).toBe('VALIDATION')
  })

  test('a board of a deleted space is a finding, and starts no run', async () => {
    const one = await room()
    await storedSpace(one, 'spc_1')
    await joined(one, 'mia', 'spc_1')
    const { id } = await one.as('mia').createBoard({ body: { name: 'B', spaceId: 'spc_1', definition: sketch('s > t1 > e') } })
    await one.as('mia').publishBoard({ params: { id } })
    await aRun(one, id)
    await one.db.updateTable('spaces').set({ deleted_at: '2026-01-05T00:00:00.000Z' }).execute()
    await one.db.deleteFrom('space_members').execute()
    one.spaces.clear()
    await one.db.updateTable('users').set({ roles: '["head"]' }).where('id', '=', 'ben').execute()
    expect((await one.as('ben').listBoards()).boards).toEqual([])
    expect((await one.as('mia').listBoards()).boards).toMatchObject([{ id }])
    const { findings } = await one.as('mia').checkBoard({ params: { id } })
    expect(findings).toMatchObject([{ severity: 'error', code: 'SPACE_DELETED' }])
    await expect(aRun(one, id)).rejects.toMatchObject({ code: 'BOARD_NOT_ACTIVE', message: expect.stringContaining('was deleted') })
  })

  test('work for a role that nobody has waits: users with manageBoards complete the task and cancel the run', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ roles: '["member"]' }).where('id', 'in', ['tim']).execute()
    const definition = sketch('s > t1 > f1 > e', { t1: { assignedRole: { role: 'a' } }, f1: { assignedRole: { role: 'a' } } })
    const { templateExport } = await one.as('mia').exportBoard({
      params: { id: (await one.as('mia').createBoard({ body: { name: 'Template', definition } })).id },
    })
    const bindings = { roles: { a: 'school-principal' }, rooms: {} }
    const { id } = await one.as('mia').importBoard({ body: { bundle: { templateExport }, bindings } })
    await one.as('mia').publishBoard({ params: { id } })
    const run = await aRun(one, id)
    expect(await advance(one, 'mia', run.id, { elementId: 't1', action: 'complete' })).toMatchObject({ activeElementIds: ['f1'] })
    const submit = one.as('mia').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data: { people: 1 } } })
    expect(await codeOf(submit)).toBe('FORBIDDEN')
    expect(await one.as('mia').cancelRun({ params: { id: run.id } })).toMatchObject({ failure: { code: 'CANCELLED' } })
  })
})
