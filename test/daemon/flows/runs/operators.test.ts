import { expect, test } from 'vitest'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { aBoard, aRun, storedSpace } from './a-board.ts'

const params = { slug: 'one' }

onBothDialects('runs for operators', (fresh) => {
  const room = async () => aTasksWorld(await fresh())
  const found = async ({ operator }: TasksWorld, query: object) =>
    (await operator.listTenantRuns({ params, query })).runs.map(({ id }) => id)

  test('runs are searched by status, board, element and age, and paged; no answer names a user or a variable', async () => {
    const one = await room()
    const board = await aBoard(
      one,
      's > t1 > t2 > e',
      {},
      { columns: [{ id: 't2', name: 'Second' }], variables: [{ name: 'phone', type: 'text' }] },
    )
    const other = await aBoard(one, 's > f1 > e')
    const first = await aRun(one, board, { variables: { phone: '555' } })
    await one.clock.advance(3_600_000)
    const second = await aRun(one, board)
    await one.as('tim').advanceRun({ params: { id: second.id }, body: { elementId: 't1', action: 'complete' } })
    const third = await aRun(one, other)
    expect((await found(one, {})).toSorted()).toEqual([first.id, second.id, third.id].toSorted())
    expect(await found(one, { board: other })).toEqual([third.id])
    expect(await found(one, { element: 't1' })).toEqual([first.id])
    expect(await found(one, { element: 't2' })).toEqual([second.id])
    expect(await found(one, { element: 't_' })).toEqual([])
    expect(await found(one, { status: 'completed' })).toEqual([])
    expect(await found(one, { startedBefore: one.clock.now().toISOString() })).toEqual([first.id])
    const page = await one.operator.listTenantRuns({ params, query: { limit: 2 } })
    const rest = await one.operator.listTenantRuns({ params, query: { limit: 2, cursor: page.nextCursor as string } })
    expect([...page.runs, ...rest.runs]).toHaveLength(3)
    const shown = await one.operator.showTenantRun({ params: { ...params, id: first.id } })
    const { entries } = await one.operator.tenantRunHistory({ params: { ...params, id: second.id } })
    expect(entries.map(({ type, elementId }) => `${type} ${elementId}`)).toEqual(['start null', 'complete t1'])
    expect(JSON.stringify([page, shown, entries])).not.toMatch(/anna|tim|phone|555/)
    expect(await codeOf(one.operator.showTenantRun({ params: { slug: 'two', id: first.id } }))).toBe('NOT_FOUND')
    expect(await codeOf(one.operator.tenantRunHistory({ params: { slug: 'two', id: first.id } }))).toBe('NOT_FOUND')
  })

  test('an element is found by its exact id, whatever its letters or those of a column are', async () => {
    const one = await room()
    const upper = await aRun(one, await aBoard(one, 's > tA > e'))
    const lower = await aRun(one, await aBoard(one, 's > ta > e', {}, { columns: [{ id: 'ta', name: 'Column' }] }))
    expect(await found(one, { element: 'tA' })).toEqual([upper.id])
    expect(await found(one, { element: 'ta' })).toEqual([lower.id])
    for (const element of ['elementIds', 'columnIds', 'TA']) expect(await found(one, { element }), element).toEqual([])
    const condition = (id: string) => `s > ${id}; ${id} -bool(vars.note)-> e; ${id} -else-> e`
    const note = { variables: [{ name: 'note', type: 'text', required: true }] }
    const variables = { note: 'x' }
    const failed = await aRun(one, await aBoard(one, condition('dA'), {}, note), { variables })
    await aRun(one, await aBoard(one, condition('da'), {}, note), { variables })
    expect(await found(one, { element: 'dA' })).toEqual([failed.id])
  })

  test('an operator sees the name of the space, which elements are done and what was not delivered, without its text', async () => {
    const one = await room()
    await storedSpace(one, 'spc_4b')
    const texts = { m1: { body: 'Secret' }, r1: { title: 'Hidden', template: 'Secret' } }
    const run = await aRun(one, await aBoard(one, 's > t1 > m1 > r1 > m2 > t2 > e', texts), { spaceId: 'spc_4b' })
    await one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 't1', action: 'complete' } })
    const show = () => one.operator.showTenantRun({ params: { ...params, id: run.id } })
    expect(await show()).toMatchObject({ doneElementIds: ['t1'], undelivered: [] })
    await one.db.updateTable('spaces').set({ name: 'Class 4b' }).execute()
    expect([(await show()).spaceName, (await one.operator.listTenantRuns({ params })).runs[0]?.spaceName]).toEqual(['Class 4b', 'Class 4b'])
    await one.db.updateTable('run_messages').set({ status: 'failed' }).where('element_id', '=', 'm1').execute()
    await one.db.updateTable('run_reports').set({ status: 'failed' }).execute()
    const shown = await show()
    expect(shown.undelivered.map(({ type, elementId }) => `${type} ${elementId}`)).toEqual(['message m1', 'report r1'])
    expect(JSON.stringify(shown)).not.toMatch(/Secret|Hidden/)
  })

  test('with support access an operator reads variables, form values, approvers and reports of a run; each use is audited', async () => {
    const one = await room()
    const fields = [{ name: 'phone', label: 'Phone', kind: 'text' }]
    const report = { title: 'Report', template: 'Call {phone}' }
    const board = await aBoard(one, 's > f1 > r1 > t1 > e', { f1: { assignedRole: 'teacher', fields }, r1: report })
    await storedSpace(one, 'spc_4b')
    const { id } = await aRun(one, board, { spaceId: 'spc_4b' })
    await one.as('tim').advanceRun({ params: { id }, body: { elementId: 'f1', action: 'submit', data: { phone: '555' } } })
    const read = (slug = 'one') => one.operator.readTenantRun({ params: { slug, id } })
    expect(await codeOf(read())).toBe('FORBIDDEN')
    await one.as('mia').grantSupportAccess()
    expect(await codeOf(read('two'))).toBe('NOT_FOUND')
    expect(await read()).toMatchObject({
      ...{ startedBy: 'anna', context: { phone: '555' }, open: [{ elementId: 't1' }], moreSteps: false },
      users: { anna: expect.any(String), tim: expect.any(String) },
      steps: [{ type: 'start' }, { type: 'submit', by: 'tim', values: { phone: '555' } }],
      reports: [{ title: 'Report', markdown: 'Call 555' }],
    })
    await one.clock.advance(24 * 3_600_000)
    expect(await codeOf(read())).toBe('FORBIDDEN')
    await one.as('mia').grantSupportAccess()
    await one.as('mia').revokeSupportAccess()
    expect(await codeOf(read())).toBe('FORBIDDEN')
    const uses = await one.db.selectFrom('audit').select('data').where('action', '=', 'support.used').execute()
    expect(uses.map(({ data }) => JSON.parse(data as string))).toEqual([{ use: 'run', runId: id }])
  })

  test('the reason of a condition without a value quotes no variable', async () => {
    const one = await room()
    const board = await aBoard(
      one,
      's > d1; d1 -bool(vars.phone)-> e; d1 -else-> e',
      {},
      { variables: [{ name: 'phone', type: 'text', required: true }] },
    )
    const run = await aRun(one, board, { variables: { phone: 'secret 555' } })
    expect(run.failure?.message).toContain('555')
    const shown = await one.operator.showTenantRun({ params: { ...params, id: run.id } })
    expect(shown.failure).toMatchObject({ code: 'EXPRESSION_FAILED', elementId: 'd1' })
    expect(JSON.stringify([shown, await one.operator.listTenantRuns({ params })])).not.toContain('555')
  })

  test('a filter cancels every unfinished run it finds; ended ones stay, and each change is audited', async () => {
    const one = await room()
    const board = await aBoard(one, 's > t1 > e')
    const [a, b, c] = [await aRun(one, board), await aRun(one, board), await aRun(one, board)]
    await one.as('tim').advanceRun({ params: { id: a.id }, body: { elementId: 't1', action: 'complete' } })
    const { changed, refused, more } = await one.operator.cancelTenantRuns({ params, body: { board } })
    expect([changed.toSorted(), refused, more]).toEqual([[b.id, c.id].toSorted(), [], false])
    expect(await one.operator.cancelTenantRuns({ params, body: { board } })).toEqual({ changed: [], refused: [], more: false })
    expect(await one.operator.showTenantRun({ params: { ...params, id: b.id } })).toMatchObject({ failure: { code: 'CANCELLED' } })
    expect((await one.as('tim').listTasks()).tasks.map(({ status }) => status).toSorted()).toEqual(['cancelled', 'cancelled', 'done'])
    const audited = await one.db.selectFrom('audit').select(['action', 'actor', 'subject']).where('action', '=', 'run.cancelled').execute()
    expect(audited.map(({ actor, subject }) => [actor.split(':')[0], subject])).toEqual([
      ['admin', 'one'],
      ['admin', 'one'],
    ])
  })

  test('failed runs are retried at their element; a run that cannot be changed is named with its code', async () => {
    const one = await room()
    const variables = [{ name: 'list', type: 'text', required: true }]
    const board = await aBoard(one, "s > d1; d1 -vars.list == 'a'-> t1 > e; d1 -else-> e", {}, { variables })
    const waiting = await aRun(one, board, { variables: { list: 'a' } })
    const refused = await one.operator.retryTenantRuns({ params, body: { ids: [waiting.id, 'run_none'] } })
    expect(refused.refused.map(({ id, code }) => [id, code])).toEqual([
      [waiting.id, 'INVALID_TRANSITION'],
      ['run_none', 'NOT_FOUND'],
    ])
    const failure = JSON.stringify({ code: 'TOO_MANY_STEPS', elementId: 'd1', message: 'too many' })
    const { state } = await one.db.selectFrom('runs').select('state').where('id', '=', waiting.id).executeTakeFirstOrThrow()
    const failed = { ...JSON.parse(state), status: 'failed', failure: JSON.parse(failure), tokens: [], pending: [] }
    await one.db
      .updateTable('runs')
      .set({ status: 'failed', failure, state: JSON.stringify(failed) })
      .execute()
    expect(await found(one, { element: 'd1' })).toEqual([waiting.id])
    expect((await one.operator.retryTenantRuns({ params, body: { element: 'd1' } })).changed).toEqual([waiting.id])
    expect(await found(one, { status: 'completed' })).toEqual([waiting.id])
  })

  test('a retry by filter takes the runs that it can continue; others are refused by id, without values and without a step', async () => {
    const one = await room()
    const variables = [{ name: 'size', type: 'text', required: true }]
    const board = await aBoard(one, 's > d1 -int(vars.size) > 10-> e1; d1 -else-> e2', {}, { variables })
    const run = await aRun(one, board, { variables: { size: 'secret' } })
    const other = await aRun(one, await aBoard(one, 's > t1 > e'))
    const failure = JSON.stringify({ code: 'TOO_MANY_STEPS', elementId: 't1', message: 'too many' })
    const { state } = await one.db.selectFrom('runs').select('state').where('id', '=', other.id).executeTakeFirstOrThrow()
    const failed = { status: 'failed', failure: JSON.parse(failure), tokens: [], pending: [] } as const
    await one.db
      .updateTable('runs')
      .set({ status: 'failed', failure, state: JSON.stringify({ ...JSON.parse(state), ...failed }) })
      .where('id', '=', other.id)
      .execute()
    const byFilter = await one.operator.retryTenantRuns({ params, body: { status: 'failed' } })
    expect(byFilter).toEqual({ changed: [other.id], refused: [], more: false })
    const { changed, refused } = await one.operator.retryTenantRuns({ params, body: { ids: [run.id] } })
    expect(await one.operator.showTenantRun({ params: { ...params, id: run.id } })).toMatchObject({ seq: run.seq })
    expect([changed, refused.map(({ code }) => code)]).toEqual([[], ['RUN_FAILED']])
    expect(refused[0]?.message).toContain('cancels it and starts a new run')
    expect(refused[0]?.message).not.toContain('secret')
  })

  test('a request that names no runs is refused', async () => {
    const one = await room()
    expect(await codeOf(one.operator.cancelTenantRuns({ params, body: {} }))).toBe('VALIDATION')
    expect(await codeOf(one.operator.cancelTenantRuns({ params: { slug: 'nobody' }, body: { status: 'failed' } }))).toBe('NOT_FOUND')
  })
})
