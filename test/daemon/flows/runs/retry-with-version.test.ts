import { expect, test } from 'vitest'
import { eraseUserRuns, fireTimers } from '../../../../src/daemon/flows/index.ts'
import { sketch } from '../../../core/boards/sketch.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { aBoard, aRun } from './a-board.ts'

type Sketch = Parameters<typeof sketch>
const variables = [{ name: 'size', type: 'text', required: true }]
const board = (condition: string, rest = 'p1 > t2 > e3', configs: Sketch[1] = { t2: { dueAt: 'PT1H' } }): Sketch => [
  `s > p1 > t1 > d1 -${condition}-> t3 > e1; d1 -else-> e2; ${rest}`,
  configs,
  { variables },
]
const wrong = 'int(vars.size) > 10'
const right = "vars.size == 'large'"

/** A failed run, whose other branch waits at t2 with a timer. */
async function failedRun(one: TasksWorld) {
  const id = await aBoard(one, ...board(wrong))
  const run = await aRun(one, id, { variables: { size: 'large' } })
  const failed = await one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 't1', action: 'complete' } })
  expect(failed).toMatchObject({ status: 'failed', boardVersion: 1, failure: { code: 'EXPRESSION_FAILED', elementId: 'd1' } })
  const publish = async (...version: Sketch) => {
    const { version: at } = await one.as('mia').showBoard({ params: { id } })
    await one.as('mia').saveBoard({ params: { id }, body: { name: 'Crisis', definition: sketch(...version), version: at } })
    await one.as('mia').publishBoard({ params: { id } })
  }
  return { id, runId: run.id, publish }
}

onBothDialects('a retry with a corrected version', (fresh) => {
  const room = async () => aTasksWorld(await fresh())
  const problemOf = (work: Promise<unknown>) => work.catch((error: unknown) => error as { code: string; message: string })

  test('continues the run in it, with its open tasks and timers, and the history and the audit name it', async () => {
    const one = await room()
    const { runId, publish } = await failedRun(one)
    await publish(...board(right))
    const retried = await one.as('mia').retryRun({ params: { id: runId }, body: { boardVersion: 2 } })
    expect(retried).toMatchObject({ status: 'waiting', boardVersion: 2, failure: null, activeElementIds: ['t3', 't2'] })
    const { entries } = await one.as('mia').runHistory({ params: { id: runId }, query: {} })
    expect(entries.map(({ type, boardVersion }) => [type, boardVersion])).toEqual([
      ['start', null],
      ['complete', null],
      ['retry', 2],
    ])
    const [{ data }] = (await one.db.selectFrom('audit').select('data').where('action', '=', 'run.retried').execute()) as [{ data: string }]
    expect(JSON.parse(data)).toMatchObject({ runId, boardVersion: 2 })
    await one.clock.advance(2 * 3_600_000)
    expect(await fireTimers(one)).toBe(1)
    const { tasks } = await one.as('tim').listTasks({ query: { runId, status: 'open' } })
    expect(tasks.map(({ title }) => title).toSorted()).toEqual(['t2', 't3'])
    for (const task of tasks) await one.as('tim').completeTask({ params: { id: task.id } })
    expect(await one.as('anna').showRun({ params: { id: runId } })).toMatchObject({ status: 'completed', boardVersion: 2 })
  })

  test('is refused where the version lacks what the run holds, or is not the published one', async () => {
    const one = await room()
    const { runId, publish } = await failedRun(one)
    const retry = (boardVersion: number) => problemOf(one.as('mia').retryRun({ params: { id: runId }, body: { boardVersion } }))
    expect(await retry(2)).toMatchObject({ code: 'VALIDATION', message: expect.stringContaining('fix: pass 1') })
    expect(await retry(1)).toMatchObject({ code: 'RUN_FAILED' })
    await publish(...board(right, 'p1 > t4 > e3', {}))
    const refused = { code: 'VERSION_UNFIT', message: expect.stringContaining('task "t2", where the run waits, does not exist') }
    expect(await retry(2)).toMatchObject({ ...refused, violations: [{ code: 'ELEMENT_MISSING', element: 't2' }] })
    expect(await one.as('mia').showRun({ params: { id: runId } })).toMatchObject({ status: 'failed', boardVersion: 1, seq: 2 })
    await publish(...board(right))
    expect(await retry(2)).toMatchObject({ code: 'VALIDATION', message: expect.stringContaining('fix: pass 3') })
    expect(await retry(3)).toMatchObject({ boardVersion: 3, failure: null })
    expect(await retry(3)).toMatchObject({ code: 'INVALID_TRANSITION' })
    expect(await codeOf(one.as('anna').retryRun({ params: { id: runId }, body: { boardVersion: 3 } }))).toBe('FORBIDDEN')
    expect(await codeOf(one.as('olga').retryRun({ params: { id: runId }, body: { boardVersion: 3 } }))).toBe('NOT_FOUND')
  })

  test('leaves no values of an erased user in the titles that the former version gave to its tasks', async () => {
    const one = await room()
    const filled = sketch(...board(wrong))
    const elements = filled.elements.map((element) => (element.id === 't2' ? { ...element, label: 'Bring {size}' } : element))
    const { id } = await one.as('mia').createBoard({ body: { name: 'Crisis', definition: { ...filled, elements } as typeof filled } })
    const publish = () => one.as('mia').publishBoard({ params: { id } })
    await publish()
    const run = await aRun(one, id, { variables: { size: 'large' } })
    await one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 't1', action: 'complete' } })
    await one.as('mia').saveBoard({ params: { id }, body: { name: 'Crisis', definition: sketch(...board(right)), version: 1 } })
    await publish()
    await one.as('mia').retryRun({ params: { id: run.id }, body: { boardVersion: 2 } })
    const titles = async () => (await one.db.selectFrom('tasks').select('title').execute()).map(({ title }) => title)
    expect(await titles()).toContain('Bring large')
    await eraseUserRuns({ ...one, eraseFiles: async () => undefined }, { id: 'anna', tenantId: 'ten_one', slug: 'one' })
    expect(new Set(await titles())).toEqual(new Set(['(erased)']))
  })

  test('can fail again, and the next version continues it', async () => {
    const one = await room()
    const { runId, publish } = await failedRun(one)
    const retry = (boardVersion: number) => one.as('mia').retryRun({ params: { id: runId }, body: { boardVersion } })
    await publish(...board('int(vars.size) > 20'))
    expect(await retry(2)).toMatchObject({ status: 'failed', boardVersion: 2, failure: { elementId: 'd1' }, activeElementIds: ['t2'] })
    await publish(...board(right))
    expect(await retry(3)).toMatchObject({ status: 'waiting', boardVersion: 3, activeElementIds: ['t3', 't2'] })
  })

  test('operators retry the runs of a board with it, and learn no texts and variables of a refusal', async () => {
    const one = await room()
    const params = { slug: 'one' }
    const { id, runId, publish } = await failedRun(one)
    await publish('s > p1 > t1 > d1 -1 > 2-> t3 > e1; d1 -else-> e2; p1 > t2 > e3', { t2: { dueAt: 'PT1H' } })
    const unfit = await one.operator.retryTenantRuns({ params, body: { board: id, boardVersion: 2 } })
    expect(unfit).toMatchObject({ changed: [], refused: [{ id: runId, code: 'VERSION_UNFIT' }] })
    expect(unfit.refused[0]?.message).toContain('VARIABLE_MISSING')
    expect(unfit.refused[0]?.message).not.toContain('size')
    await publish(...board(right))
    expect(await codeOf(one.operator.retryTenantRuns({ params, body: { status: 'failed', boardVersion: 3 } }))).toBe('VALIDATION')
    expect(await codeOf(one.operator.retryTenantRuns({ params, body: { boardVersion: 3 } }))).toBe('VALIDATION')
    const retried = await one.operator.retryTenantRuns({ params, body: { board: id, boardVersion: 3 } })
    expect(retried).toEqual({ changed: [runId], refused: [], more: false })
    const { entries } = await one.operator.tenantRunHistory({ params: { ...params, id: runId }, query: {} })
    expect(entries.at(-1)).toMatchObject({ type: 'retry', boardVersion: 3 })
  })

  test('one version is for the runs of one board', async () => {
    const one = await room()
    const params = { slug: 'one' }
    const [crisis, trip] = [await failedRun(one), await failedRun(one)]
    for (const { publish } of [crisis, trip]) await publish(...board(right))
    const retry = (...ids: string[]) => one.operator.retryTenantRuns({ params, body: { ids, boardVersion: 2 } })
    const refused = await problemOf(retry(crisis.runId, trip.runId))
    expect(refused).toMatchObject({
      code: 'VALIDATION',
      message: expect.stringContaining('fix: retry the runs of each board by themselves'),
    })
    for (const { id } of [crisis, trip]) expect((refused as { message: string }).message).toContain(id)
    expect(await one.as('mia').showRun({ params: { id: crisis.runId } })).toMatchObject({ status: 'failed', boardVersion: 1 })
    for (const { runId } of [crisis, trip]) expect(await retry(runId)).toEqual({ changed: [runId], refused: [], more: false })
  })
})
