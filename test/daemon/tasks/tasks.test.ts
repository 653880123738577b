import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reaches } from '../../../src/core/events/index.ts'
import { audienceOf, type Task } from '../../../src/core/tasks/index.ts'
import { eventsAfter, type JobHandler } from '../../../src/daemon/db/index.ts'
import { deleteOldTasks, ensureTasks, moveTask, tasksFeature, unfinishedTasksOf } from '../../../src/daemon/tasks/index.ts'
import { insertTask, type TaskRecord } from '../../../src/daemon/tasks/tasks.repo.ts'
import { tasksFor } from '../../../src/daemon/tasks/user-tasks.repo.ts'
import { disableUser } from '../../../src/daemon/users/change-user.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aSpace, aTasksWorld, codeOf, principalOf, type TasksWorld } from '../../support/tasks-world.ts'
import { userPorts } from '../../support/user-ports.ts'

const titles = (tasks: readonly Readonly<{ title: string }>[]) => tasks.map(({ title }) => title)

onBothDialects('tasks', (fresh) => {
  const room = async () => aTasksWorld(await fresh())
  const make = (one: TasksWorld, body: Partial<Task> & { title?: string } = {}) =>
    one.as('mia').createTask({ body: { title: 'Lock the doors', ...body } as never })
  const told = async ({ db }: TasksWorld) => eventsAfter(db, { stream: 'tenant:ten_one', after: 0 })

  test('a task is made, begun and done; each step is stored with its event', async () => {
    const one = await room()
    const task = await make(one, { eventId: 'e1', externalId: 'x1', assignedRole: 'TEACHER', dueAt: '2026-01-05T10:00:00Z' })
    expect(task).toEqual({
      ...{ id: task.id, externalId: 'x1', eventId: 'e1', spaceId: null, runId: null, title: 'Lock the doors', status: 'open' },
      ...{ assignedRole: 'TEACHER', assigneeId: null, dueAt: '2026-01-05T10:00:00.000Z', escalationLevel: 0, escalatedAt: null },
      ...{ createdAt: '2026-01-05T02:00:00.000Z', updatedAt: '2026-01-05T02:00:00.000Z' },
    })
    await one.clock.advance(1000)
    const params = { id: task.id }
    expect(await one.as('tim').startTask({ params })).toMatchObject({ status: 'in_progress', assigneeId: 'tim' })
    expect(await one.as('tim').completeTask({ params })).toMatchObject({ status: 'done', updatedAt: '2026-01-05T02:00:01.000Z' })
    expect((await one.as('mia').showTask({ params })).status).toBe('done')
    const events = await told(one)
    expect(events.map(({ eventType }) => eventType)).toEqual(['task.created', 'task.updated', 'task.updated'])
    expect(events[0]).toMatchObject({
      source: 'core',
      payload: { taskId: task.id, eventId: 'e1', spaceId: null, runId: null, assigneeId: null, role: 'teacher', by: 'mia' },
      audience: { capability: 'manageRuns', users: ['mia'], roles: ['teacher'] },
    })
  })

  test('a role that does not exist gets no task', async () => {
    const one = await room()
    const failed = make(one, { assignedRole: 'wizard' })
    await expect(failed).rejects.toThrow('the role wizard does not exist. fix: use one of ')
    expect(await codeOf(failed)).toBe('VALIDATION')
    expect((await one.as('mia').listTasks({ query: {} as never })).tasks).toEqual([])
  })

  test('an external id is taken once per event and tenant', async () => {
    const one = await room()
    const rows: readonly (readonly [string, string | undefined, string, string])[] = [
      ['mia', 'e1', 'x1', 'ok'],
      ['mia', 'e1', 'x1', 'ALREADY_EXISTS'],
      ['mia', 'e1', 'x2', 'ok'],
      ['mia', 'e2', 'x1', 'ok'],
      ['mia', undefined, 'x1', 'ok'],
      ['mia', undefined, 'x1', 'ALREADY_EXISTS'],
      ['olga', 'e1', 'x1', 'ok'],
    ]
    for (const [who, eventId, externalId, code] of rows)
      expect([who, eventId, externalId, await codeOf(one.as(who).createTask({ body: { title: 'T', eventId, externalId } }))]).toEqual([
        ...[who, eventId, externalId, code],
      ])
    expect(await codeOf(make(one, {}))).toBe('ok')
    expect(await codeOf(make(one, {}))).toBe('ok')
  })

  test('of two who make the same task at once one does', async () => {
    const one = await room()
    const codes = await Promise.all([1, 2, 3, 4].map(() => codeOf(make(one, { eventId: 'e1', externalId: 'x1' }))))
    expect(codes.sort()).toEqual(['ALREADY_EXISTS', 'ALREADY_EXISTS', 'ALREADY_EXISTS', 'ok'])
    expect(await told(one)).toHaveLength(1)
  })

  test('of two who take a task at once one does, and the other is told so', async () => {
    const one = await room()
    const { id } = await make(one, { assignedRole: 'member' })
    const codes = await Promise.all(['anna', 'ben'].map((who) => codeOf(one.as(who).startTask({ params: { id } }))))
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    expect(codes.some((code) => code === 'FORBIDDEN' || code === 'INVALID_TRANSITION')).toBe(true)
  })

  test('what a caller gets, code by code', async () => {
    const one = await room()
    const { id } = await make(one, { assignedRole: 'teacher' })
    const { id: done } = await make(one, { assigneeId: 'anna' })
    await one.as('anna').completeTask({ params: { id: done } })
    const [mine, finished, none] = [{ params: { id } }, { params: { id: done } }, { params: { id: 'tsk_none' } }]
    const rows: readonly (readonly [string, () => Promise<unknown>, string])[] = [
      ['nobody makes a task without the capability', () => one.as('anna').createTask({ body: { title: 'T' } }), 'FORBIDDEN'],
      ['a title is needed', () => one.as('mia').createTask({ body: {} as never }), 'VALIDATION'],
      ['a title is one visible line', () => one.as('mia').createTask({ body: { title: 'a\nb' } }), 'VALIDATION'],
      ['a run is for boards to name', () => one.as('mia').createTask({ body: { title: 'T', runId: 'r1' } as never }), 'VALIDATION'],
      ['an assignee is of the tenant', () => one.as('mia').createTask({ body: { title: 'T', assigneeId: 'olga' } }), 'VALIDATION'],
      ['a space is one’s own', () => one.as('mia').createTask({ body: { title: 'T', spaceId: 's1' } }), 'VALIDATION'],
      ['what is not there', () => one.as('anna').showTask(none), 'NOT_FOUND'],
      ['what is not for one is not there', () => one.as('anna').showTask(mine), 'NOT_FOUND'],
      ['nor can it be done', () => one.as('anna').completeTask(mine), 'NOT_FOUND'],
      ['of another tenant', () => one.as('olga').showTask(mine), 'NOT_FOUND'],
      ['of another tenant, by any verb', () => one.as('olga').escalateTask({ ...mine, body: {} }), 'NOT_FOUND'],
      ['of another tenant, by a manager', () => one.as('olga').changeTask({ ...mine, body: { title: 'Mine' } }), 'NOT_FOUND'],
      ['given to others by one of the role', () => one.as('tim').assignTask({ ...mine, body: { assigneeId: 'anna' } }), 'FORBIDDEN'],
      ['given to one of another tenant', () => one.as('mia').assignTask({ ...mine, body: { assigneeId: 'olga' } }), 'VALIDATION'],
      ['cancelled by who has to do it', () => one.as('tim').cancelTask(mine), 'FORBIDDEN'],
      ['changed without the capability', () => one.as('tim').changeTask({ ...mine, body: { title: 'Less' } }), 'FORBIDDEN'],
      ['done twice', () => one.as('anna').completeTask(finished), 'INVALID_TRANSITION'],
      ['changed when it is done', () => one.as('mia').changeTask({ ...finished, body: { title: 'More' } }), 'INVALID_TRANSITION'],
      ['a cursor of nobody', () => one.as('anna').listTasks({ query: { cursor: 'x' } }), 'VALIDATION'],
    ]
    for (const [what, work, code] of rows) expect([what, await codeOf(work())]).toEqual([what, code])
  })

  test('a disabled user is given no task', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ status: 'disabled' }).where('id', '=', 'ben').execute()
    expect(await codeOf(make(one, { assigneeId: 'ben' }))).toBe('VALIDATION')
  })

  test('the tasks of a role that a user took return to it when the user is disabled', async () => {
    const one = await room()
    const [taken, free, personal] = [
      await make(one, { assignedRole: 'TEACHER' }),
      await make(one, { assignedRole: 'TEACHER' }),
      await make(one, { assigneeId: 'tim' }),
    ]
    await one.as('tim').startTask({ params: { id: taken.id } })
    const disable = (localpart: string) => disableUser({ ...one, ...userPorts }, anOperator, { slug: 'one', localpart, reason: 'left' })
    const jobs = () => one.db.selectFrom('jobs').select('payload').where('topic', '=', 'tasks.return').execute()
    await disable('ben')
    expect(await jobs()).toEqual([])
    await disable('tim')
    await drainJobs({ ...one, handlers: { 'tasks.return': tasksFeature.jobs?.(one)['tasks.return'] as JobHandler } })
    expect(await jobs()).toEqual([])
    const shown = (id: string) => one.as('mia').showTask({ params: { id } })
    for (const { id } of [taken, free]) expect(await shown(id)).toMatchObject({ status: 'open', assigneeId: null })
    expect(await shown(personal.id)).toMatchObject({ assigneeId: 'tim' })
    await one.db.updateTable('users').set({ roles: '["teacher"]' }).where('id', '=', 'anna').execute()
    expect(await one.as('anna').startTask({ params: { id: taken.id } })).toMatchObject({ assigneeId: 'anna' })
  })

  test('an escalation to other people is told to those who lose it; repeated with its level it happens once', async () => {
    const one = await room()
    const { id } = await make(one, { assigneeId: 'anna' })
    const call = { params: { id }, body: { level: 1, assignedRole: 'SCHOOL_PRINCIPAL' } }
    const escalated = await one.as('anna').escalateTask(call)
    expect(escalated).toMatchObject({ escalationLevel: 1, escalatedAt: '2026-01-05T02:00:00.000Z', assigneeId: null })
    expect(await one.as('mia').escalateTask(call)).toEqual(escalated)
    const events = await told(one)
    expect(events.map(({ eventType }) => eventType)).toEqual(['task.created', 'task.escalated'])
    expect(events[1]?.audience).toEqual({ capability: 'manageRuns', users: ['mia', 'anna'], roles: ['school-principal'] })
  })

  test('a task of a space is read by its members, and by no manager who is not in it', async () => {
    const one = await room()
    one.spaces.set('mia', [aSpace('s1')]).set('ben', [aSpace('s1')])
    const { id } = await make(one, { spaceId: 's1' })
    one.spaces.delete('mia')
    await one.db.updateTable('tasks').set({ created_by: null }).execute()
    expect(await codeOf(one.as('ben').showTask({ params: { id } }))).toBe('ok')
    expect(await codeOf(one.as('mia').showTask({ params: { id } }))).toBe('NOT_FOUND')
    expect(titles((await one.as('mia').listTasks()).tasks)).toEqual([])
  })

  test('pages hold every task once, the newest first, and filters leave out the rest', async () => {
    const one = await room()
    for (let n = 0; n < 7; n++) {
      await make(one, { title: `T${n}`, eventId: n % 2 === 0 ? 'even' : 'odd', ...(n === 3 ? { assigneeId: 'mia' } : {}) })
      if (n % 3 === 0) await one.clock.advance(1000)
    }
    const seen: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await one.as('mia').listTasks({ query: { limit: 3, ...(cursor ? { cursor } : {}) } })
      seen.push(...titles(page.tasks))
      cursor = page.nextCursor
    }
    expect([...seen].sort()).toEqual(['T0', 'T1', 'T2', 'T3', 'T4', 'T5', 'T6'])
    expect([seen.slice(0, 3).sort(), seen.slice(3, 6).sort(), seen[6]]).toEqual([['T4', 'T5', 'T6'], ['T1', 'T2', 'T3'], 'T0'])
    const listed = async (query: Record<string, string>) => titles((await one.as('mia').listTasks({ query })).tasks).sort()
    expect(await listed({ eventId: 'odd' })).toEqual(['T1', 'T3', 'T5'])
    expect(await listed({ assignee: 'me' })).toEqual(['T3'])
    expect(await listed({ status: 'done' })).toEqual([])
    expect((await one.as('olga').listTasks()).tasks).toEqual([])
  })

  test('a call of automation that broke off is repeated: the task stays as it is, and is told once', async () => {
    const one = await room()
    const wanted = { tenantId: 'ten_one', createdBy: null, title: 'Call the parents', eventId: 'e1', externalId: 'x1' }
    const broken = one.db.transaction().execute(async (tx) => {
      await ensureTasks(one, tx, [wanted])
      throw new Error('the daemon died')
    })
    await expect(broken).rejects.toThrow('the daemon died')
    expect(await told(one)).toEqual([])
    const ensured = (...all: (typeof wanted)[]) => one.db.transaction().execute((tx) => ensureTasks(one, tx, all))
    const [first] = await ensured(wanted)
    const again = await ensured({ ...wanted, externalId: 'x2' }, { ...wanted, title: 'Another title' })
    expect([first?.isNew, ...again.map(({ isNew }) => isNew)]).toEqual([true, true, false])
    expect([again[0]?.task.externalId, again[1]?.task]).toEqual(['x2', first?.task])
    const moved = (tenantId: string) =>
      one.db.transaction().execute((tx) => moveTask({ ...one, tx }, { tenantId, id: first?.task.id ?? '' }, { type: 'complete' }))
    expect(await moved('ten_two')).toBeUndefined()
    expect((await moved('ten_one'))?.status).toBe('done')
    expect((await told(one)).map(({ eventType }) => eventType)).toEqual(['task.created', 'task.created', 'task.updated'])
  })

  test('two calls for the same tasks in another order do not wait for each other for ever', async () => {
    const one = await room()
    const wanted = ['x1', 'x2', 'x3'].map((externalId) => ({ tenantId: 'ten_one', createdBy: null, title: 'T', eventId: 'e1', externalId }))
    const ensure = (all: typeof wanted) => one.db.transaction().execute((tx) => ensureTasks(one, tx, all))
    const both = await Promise.all([ensure(wanted), ensure([...wanted].reverse())])
    expect(both.flat().filter(({ isNew }) => isNew)).toHaveLength(3)
    expect(await told(one)).toHaveLength(3)
  })

  test('a year after they ended tasks are forgotten, unfinished ones never', async () => {
    const one = await room()
    const { id } = await make(one, { title: 'Ended' })
    await make(one, { title: 'Open' })
    await one.as('mia').cancelTask({ params: { id } })
    await one.clock.advance(364 * 86_400_000)
    expect(await deleteOldTasks(one)).toBe('0 old tasks')
    await one.clock.advance(2 * 86_400_000)
    expect(await deleteOldTasks(one)).toBe('1 old task')
    expect(titles((await one.as('mia').listTasks()).tasks)).toEqual(['Open'])
  })

  test('the list shows exactly what the rule of reading allows, and `me` exactly what is assigned to the caller or its role', async () => {
    const one = await room()
    const aRecord = fc.record({
      tenantId: fc.constantFrom('ten_one', 'ten_two'),
      spaceId: fc.constantFrom('s1', 's2', null),
      assignedRole: fc.constantFrom('TEACHER', 'member', 'head', null),
      assigneeId: fc.constantFrom('anna', 'tim', 'mia', null),
      createdBy: fc.constantFrom('anna', 'mia', null),
    })
    const at = '2026-01-05T02:00:00.000Z'
    const rest = { externalId: null, eventId: null, runId: null, title: 'T', status: 'open', dueAt: null } as const
    await fc.assert(
      fc.asyncProperty(fc.array(aRecord, { maxLength: 8 }), fc.constantFrom('anna', 'tim', 'mia', 'olga'), async (records, who) => {
        const tasks: TaskRecord[] = records.map((record, n) => ({
          ...{ id: `tsk_${n}`, ...rest, ...record, escalationLevel: 0, escalatedAt: null, createdAt: at, updatedAt: at },
        }))
        await one.db.deleteFrom('tasks').execute()
        await one.db.transaction().execute(async (tx) => {
          for (const task of tasks) await insertTask(tx, task)
        })
        const actor = await principalOf(one.db, who)
        const reader = { ...actor, spaceIds: ['s1'], manages: actor.capabilities.includes('manageRuns') }
        const isMember = (spaceId: string, userId: string) => spaceId === 's1' && userId === who
        const allowed = tasks.filter((task) => task.tenantId === actor.tenantId && reaches(audienceOf(task), actor, isMember))
        const ids = (found: readonly TaskRecord[]) => found.map(({ id }) => id).sort()
        expect(ids(await tasksFor(one.db, reader, { limit: 100 }))).toEqual(ids(allowed))
        const own = allowed.filter(({ assigneeId, assignedRole }) =>
          assigneeId === null ? assignedRole !== null && actor.roles.includes(assignedRole.toLowerCase()) : assigneeId === who,
        )
        expect(ids(await unfinishedTasksOf(one.db, actor, 100))).toEqual(ids(own))
        expect(ids(await tasksFor(one.db, reader, { assignee: 'me', limit: 100 }))).toEqual(ids(own))
      }),
      { numRuns: 30 },
    )
  })
})
