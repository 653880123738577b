import { expect, test } from 'vitest'
import { fireTimers } from '../../../src/daemon/runs/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aTasksWorld, codeOf, type TasksWorld } from '../../support/tasks-world.ts'
import { aBoard, aRun } from './a-board.ts'

const alerts = async ({ db }: TasksWorld) =>
  (await db.selectFrom('alerts').select(['kind', 'status']).orderBy('kind').execute()).map(({ kind, status }) => `${kind} ${status}`)

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
})
