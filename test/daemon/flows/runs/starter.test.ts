import { expect, test } from 'vitest'
import { fireTimers } from '../../../../src/daemon/flows/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf } from '../../../support/tasks-world.ts'
import { aBoard, aRun } from './a-board.ts'

// Elements that belong to the user who started the run, such as the notice of an absence.

const fields = [
  { name: 'student', label: 'Student', kind: 'text', required: true },
  { name: 'reason', label: 'Reason', kind: 'text', required: true },
]
const notice = { assignedRole: undefined, assignedTo: 'starter', fields }
const data = { student: 'Tom', reason: 'ill' }
const submit = (elementId = 'f1') => ({ elementId, action: 'submit' as const, data })

onBothDialects('elements of the user who started the run', (fresh) => {
  const room = async () => aTasksWorld(await fresh())

  test('another family neither reads the run nor fills its form', async () => {
    const one = await room()
    const board = await aBoard(one, 's > f1 > t1 > e', { f1: notice })
    const run = await aRun(one, board)
    expect(run.warnings).toEqual([])
    const ben = one.as('ben')
    expect((await ben.listCheckpoints()).checkpoints).toEqual([])
    expect(await codeOf(ben.advanceRun({ params: { id: run.id }, body: submit() }))).toBe('NOT_FOUND')
    expect((await one.as('anna').listCheckpoints()).checkpoints).toMatchObject([{ runId: run.id, elementId: 'f1', assignedRole: null }])
    await one.as('anna').advanceRun({ params: { id: run.id }, body: submit() })
    expect((await ben.listRuns({ params: { id: board } })).runs).toEqual([])
    expect(await codeOf(ben.showRun({ params: { id: run.id } }))).toBe('NOT_FOUND')
    expect((await one.as('tim').showRun({ params: { id: run.id } })).context).toEqual(data)
  })

  test('manageBoards does not fill the form, but completes the task', async () => {
    const one = await room()
    const own = { assignedRole: undefined, assignedTo: 'starter' }
    const run = await aRun(one, await aBoard(one, 's > f1 > t1 > t2 > e', { f1: notice, t1: own, t2: own }))
    const params = { id: run.id }
    expect(await codeOf(one.as('mia').advanceRun({ params, body: submit() }))).toBe('FORBIDDEN')
    await one.as('anna').advanceRun({ params, body: submit() })
    expect((await one.as('anna').listTasks()).tasks).toMatchObject([{ title: 't1', assignedRole: null, assigneeId: 'anna' }])
    expect((await one.as('ben').listTasks()).tasks).toEqual([])
    const id = (await one.as('anna').listTasks()).tasks[0]?.id ?? ''
    expect(await codeOf(one.as('anna').assignTask({ params: { id }, body: { assigneeId: null } }))).toBe('INVALID_TRANSITION')
    await one.as('mia').advanceRun({ params, body: { elementId: 't1', action: 'complete' } })
    const ended = await one.as('anna').advanceRun({ params, body: { elementId: 't2', action: 'complete' } })
    expect(ended.status).toBe('completed')
  })

  test('after the escalation the other role has the form in its list and may submit it', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > f1 > e', { f1: { ...notice, dueAt: 'PT1H', escalationRole: 'teacher' } }))
    expect((await one.as('tim').listCheckpoints()).checkpoints).toEqual([])
    expect(await codeOf(one.as('tim').advanceRun({ params: { id: run.id }, body: submit() }))).toBe('NOT_FOUND')
    await one.clock.advance(3_600_000)
    await fireTimers(one)
    expect((await one.as('tim').listCheckpoints()).checkpoints).toMatchObject([{ elementId: 'f1', runId: run.id }])
    expect((await one.as('anna').listCheckpoints()).checkpoints).toMatchObject([{ elementId: 'f1' }])
    expect((await one.as('ben').listCheckpoints()).checkpoints).toEqual([])
    expect((await one.as('tim').advanceRun({ params: { id: run.id }, body: submit() })).status).toBe('completed')
  })

  test('a board whose runs an event or a time starts is refused', async () => {
    const one = await room()
    const triggers = [{ id: 'monday', kind: 'cron', expression: '0 8 * * 1' }]
    const refused = await aBoard(one, 's > f1 > e', { f1: notice }, { triggers }).catch((error) => error)
    expect(refused.code).toBe('BOARD_INVALID')
    expect(refused.violations).toContainEqual(expect.objectContaining({ code: 'STARTER_MISSING', element: 'f1' }))
  })

  test('the title of a task has the values of the run, cut to its length', async () => {
    const one = await room()
    const board = await aBoard(one, 's > f1 > t1 > e', { f1: notice })
    const { definition, version } = await one.as('mia').showBoard({ params: { id: board } })
    const elements = definition.elements.map((own) => (own.id === 't1' ? { ...own, label: 'Record {student}: {reason}' } : own))
    await one.as('mia').saveBoard({ params: { id: board }, body: { name: 'B', version, definition: { ...definition, elements } } })
    await one.as('mia').publishBoard({ params: { id: board } })
    const run = await aRun(one, board)
    await one.as('anna').advanceRun({ params: { id: run.id }, body: { ...submit(), data: { student: 'Tom', reason: 'x'.repeat(500) } } })
    expect((await one.as('tim').listTasks()).tasks).toMatchObject([{ title: 'Record Tom: (too long)' }])
  })
})
