import { expect, test } from 'vitest'
import { fireTimers } from '../../../../src/daemon/flows/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { aBoard, aRun } from './a-board.ts'

const alerts = async ({ db }: TasksWorld) =>
  (await db.selectFrom('alerts').select(['key', 'status']).orderBy('key').execute()).map(
    ({ key, status }) => `${key.replace(/:run_.*/, '')} ${status}`,
  )

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

  test('a task is escalated by hand to no role that does not exist', async () => {
    const one = await aTasksWorld(await fresh())
    await aRun(one, await aBoard(one, 's > t1 > e'))
    const [task] = (await one.as('tim').listTasks()).tasks
    const params = { id: task?.id as string }
    const refused = await one
      .as('mia')
      .escalateTask({ params, body: { assignedRole: 'techer' } })
      .catch((error) => error)
    expect(refused).toMatchObject({ code: 'VALIDATION', details: [{ path: 'assignedRole', reason: expect.stringContaining('fix:') }] })
    expect(await one.as('mia').escalateTask({ params, body: { assignedRole: 'SCHOOL_PRINCIPAL' } })).toMatchObject({ escalationLevel: 1 })
  })
})
