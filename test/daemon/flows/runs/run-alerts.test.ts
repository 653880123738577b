import { expect, test } from 'vitest'
import { fireTimers, flowsFeature } from '../../../../src/daemon/flows/index.ts'
import { tasksFeature } from '../../../../src/daemon/tasks/index.ts'
import { changeUser, disableUser } from '../../../../src/daemon/users/change-user.ts'
import { anOperator } from '../../../support/boxes-world.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { userPorts } from '../../../support/user-ports.ts'
import { aBoard, aRun } from './a-board.ts'

const alerts = async ({ db }: TasksWorld) =>
  (await db.selectFrom('alerts').select(['key', 'status']).orderBy('key').execute()).map(
    ({ key, status }) => `${key.replace(/:run_.*/, '')} ${status}`,
  )

/** Runs each pending job of runs and tasks once, in the order in which they were enqueued. */
async function work(room: TasksWorld): Promise<void> {
  const handlers = { ...flowsFeature.jobs?.(room as never), ...tasksFeature.jobs?.(room) }
  const jobs = room.db.selectFrom('jobs').select(['id', 'topic', 'payload']).where('topic', 'in', Object.keys(handlers))
  for (const { id, topic, payload } of await jobs.orderBy('id').execute()) {
    await handlers[topic]?.(JSON.parse(payload), { last: false })
    await room.db.deleteFrom('jobs').where('id', '=', id).execute()
  }
}

const person = [{ name: 'people', label: 'People', kind: 'number', required: true }]

onBothDialects('alerts of runs', (fresh) => {
  test('a late form without an escalation role closes the alert once it is submitted', async () => {
    const one = await aTasksWorld(await fresh())
    const run = await aRun(one, await aBoard(one, 's > f1 > f2 > e', { f1: { dueAt: 'PT1H', assignedRole: 'teacher', fields: person } }))
    await one.clock.advance(3_600_000)
    await fireTimers(one)
    expect(await alerts(one)).toEqual(['run_stalled:late open'])
    const submit = (data: object) =>
      one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data: { ...data } } })
    // The process no longer has the run in memory then, like another replica.
    expect(await codeOf(submit({}))).toBe('VALIDATION')
    await submit({ people: 1 })
    expect(await alerts(one)).toEqual(['run_stalled:late closed'])
  })

  test('an approval is stored beside the task that asks for more approvers, also before the check of a lost one', async () => {
    const one = await aTasksWorld(await fresh())
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', 'in', ['ben', 'tim']).execute()
    // t1 has no user, so the run is stalled from its start.
    const board = await aBoard(one, 's > p1; p1 > t1 > e1; p1 > c1 > e2', { c1: { requiredApprovals: 2, escalationRole: 'head' } })
    const run = await aRun(one, board)
    await disableUser({ ...one, ...userPorts }, anOperator, { slug: 'one', localpart: 'tim', reason: 'left' })
    await one.as('ben').advanceRun({ params: { id: run.id }, body: { elementId: 'c1', action: 'approve' } })
    expect((await one.as('mia').showRun({ params: { id: run.id } })).open).toContainEqual(expect.objectContaining({ approvals: 1 }))
    await work(one)
    const tasks = async () => (await one.as('mia').listTasks()).tasks.map(({ title, status }) => `${title} ${status}`).toSorted()
    expect(await tasks()).toEqual(['Too few approvers: c1 open', 't1 open'])
    await one.as('mia').cancelRun({ params: { id: run.id } })
    expect(await tasks()).toEqual(['Too few approvers: c1 cancelled', 't1 cancelled'])
  })

  const ofTim = { slug: 'one', localpart: 'tim' }
  const ports = (one: TasksWorld) => ({ ...one, ...userPorts })
  const withoutRole = (one: TasksWorld) => changeUser(ports(one), anOperator, { ...ofTim, roles: ['member'] })
  const disabled = (one: TasksWorld, localpart = 'tim') => disableUser(ports(one), anOperator, { slug: 'one', localpart, reason: 'left' })

  /** A run that waits at one task of teachers, of whom tim is the last. */
  async function atTask() {
    const one = await aTasksWorld(await fresh())
    const run = await aRun(one, await aBoard(one, 's > t1 > e'))
    const [task] = (await one.as('tim').listTasks()).tasks
    return { one, run, params: { id: task?.id as string } }
  }

  test('a task is escalated by hand to no role that does not exist, and to one without users with an alert', async () => {
    const { one, params } = await atTask()
    const escalate = (assignedRole: string) => one.as('mia').escalateTask({ params, body: { assignedRole } })
    const refused = await escalate('techer').catch((error) => error)
    expect(refused).toMatchObject({ code: 'VALIDATION', details: [{ path: 'assignedRole', reason: expect.stringContaining('fix:') }] })
    await escalate('SCHOOL_PRINCIPAL')
    expect(await alerts(one)).toEqual(['run_stalled:users open'])
    await escalate('teacher')
    expect(await alerts(one)).toEqual(['run_stalled:users closed'])
  })

  test('a task that was escalated by hand waits for its new role alone', async () => {
    const { one, params } = await atTask()
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', 'ben').execute()
    await one.as('tim').escalateTask({ params, body: { assignedRole: 'school-principal' } })
    await withoutRole(one)
    await work(one)
    expect(await alerts(one)).toEqual([])
    await disabled(one, 'ben')
    await work(one)
    expect(await alerts(one)).toEqual(['run_stalled:users open'])
  })

  test('a task that returns to a role without users is reported beside another one that waits', async () => {
    const one = await aTasksWorld(await fresh())
    const run = await aRun(one, await aBoard(one, 's > p1; p1 > t1 > e1; p1 > t2 > e2', { t2: { assignedRole: 'school-principal' } }))
    expect(await alerts(one)).toEqual(['run_stalled:users open'])
    const [task] = (await one.as('tim').listTasks()).tasks.filter(({ title }) => title === 't1')
    await one.as('tim').startTask({ params: { id: task?.id as string } })
    await withoutRole(one)
    await work(one)
    await one.as('tim').assignTask({ params: { id: task?.id as string }, body: { assigneeId: null } })
    await work(one)
    const { body } = await one.db.selectFrom('alerts').select('body').where('subject', '=', `one/${run.id}`).executeTakeFirstOrThrow()
    expect(body).toContain('So it is for 1 more')
  })

  test('a task that can be done repeats no alert of another one, whoever gives it back or escalates it', async () => {
    const one = await aTasksWorld(await fresh())
    await one.db.updateTable('users').set({ roles: '["head"]' }).where('id', '=', 'ben').execute()
    await aRun(one, await aBoard(one, 's > p1; p1 > t1 > e1; p1 > t2 > e2', { t2: { assignedRole: 'school-principal' } }))
    const count = async () => (await one.db.selectFrom('alerts').select('count').executeTakeFirstOrThrow()).count
    const [task] = (await one.as('tim').listTasks()).tasks.filter(({ title }) => title === 't1')
    const params = { id: task?.id as string }
    await one.as('tim').startTask({ params })
    await one.as('tim').assignTask({ params, body: { assigneeId: null } })
    await one.as('mia').escalateTask({ params, body: { assignedRole: 'head' } })
    expect(await count()).toBe(1)
    await one.as('mia').escalateTask({ params, body: { assignedRole: 'school-principal' } })
    expect(await count()).toBe(2)
  })

  test('an approver who leaves while the run is failed is missed after the retry', async () => {
    const one = await aTasksWorld(await fresh())
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', 'ben').execute()
    const decisions = Array.from({ length: 1001 }, (_, n) => `d${n} -1 > 2-> e2; d${n} -else-> ${n === 1000 ? 'e2' : `d${n + 1}`}`)
    const run = await aRun(one, await aBoard(one, `s > p1; p1 > c1 > e1; p1 > f1 > d0; ${decisions.join('; ')}`))
    await one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data: { people: 1 } } })
    expect(await alerts(one)).toEqual(['run_stalled:failed open'])
    await disabled(one, 'ben')
    await work(one)
    expect(await alerts(one)).toEqual(['run_stalled:failed open'])
    await one.as('mia').retryRun({ params: { id: run.id } })
    expect(await alerts(one)).toEqual(['run_stalled:failed closed', 'run_stalled:users open'])
  })
})
