import { expect, test } from 'vitest'
import { fireTimers, runsFeature } from '../../../src/daemon/runs/index.ts'
import { tasksFeature } from '../../../src/daemon/tasks/index.ts'
import { disableUser } from '../../../src/daemon/users/change-user.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aTasksWorld, codeOf, type TasksWorld } from '../../support/tasks-world.ts'
import { userPorts } from '../../support/user-ports.ts'
import { aBoard, aRun } from './a-board.ts'

const alerts = async ({ db }: TasksWorld) =>
  (await db.selectFrom('alerts').select(['kind', 'status']).orderBy('kind').execute()).map(({ kind, status }) => `${kind} ${status}`)

/** Runs each pending job of runs and tasks once, in the order in which they were enqueued. */
async function work(room: TasksWorld): Promise<void> {
  const handlers = { ...runsFeature.jobs?.(room), ...tasksFeature.jobs?.(room) }
  const jobs = room.db.selectFrom('outbox').select(['id', 'topic', 'payload']).where('topic', 'in', Object.keys(handlers))
  for (const { id, topic, payload } of await jobs.orderBy('id').execute()) {
    await handlers[topic]?.(JSON.parse(payload), { last: false })
    await room.db.deleteFrom('outbox').where('id', '=', id).execute()
  }
}

const person = [{ name: 'people', label: 'People', kind: 'number', required: true }]

onBothDialects('alerts of runs', (fresh) => {
  test('a late form without an escalation role closes the alert once it is submitted', async () => {
    const one = await aTasksWorld(await fresh())
    const run = await aRun(one, await aBoard(one, 's > f1 > f2 > e', { f1: { dueAt: 'PT1H', assignedRole: 'teacher', fields: person } }))
    await one.clock.advance(3_600_000)
    await fireTimers(one)
    expect(await alerts(one)).toEqual(['run_overdue open'])
    const submit = (data: object) =>
      one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data: { ...data } } })
    // The process no longer has the run in memory then, like another replica.
    expect(await codeOf(submit({}))).toBe('VALIDATION')
    await submit({ people: 1 })
    expect(await alerts(one)).toEqual(['run_overdue closed'])
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
})
