import { expect, test } from 'vitest'
import { problem } from '../../../../src/core/kit/index.ts'
import { fireTimers, flowsFeature } from '../../../../src/daemon/flows/index.ts'
import { eraseUser } from '../../../../src/daemon/privacy/erase-user.ts'
import { tasksFeature } from '../../../../src/daemon/tasks/index.ts'
import { drainJobs } from '../../../../src/daemon/work/index.ts'
import { anOperator } from '../../../support/boxes-world.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTasksWorld, codeOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { userPorts } from '../../../support/user-ports.ts'
import { aBoard, aRun, joined, storedSpace } from './a-board.ts'

type Ports = Partial<Pick<TasksWorld, 'sendMessage' | 'storeReport'>>

/** Runs every pending job of runs once, with these ports. */
async function work(room: TasksWorld, ports: object = {}, { last = false } = {}): Promise<void> {
  const handlers = flowsFeature.jobs?.({ ...room, ...(ports as Ports) } as never) ?? {}
  const jobs = await room.db
    .selectFrom('jobs')
    .select(['topic', 'payload'])
    .where('topic', 'in', Object.keys(handlers))
    .orderBy('id')
    .execute()
  for (const { topic, payload } of jobs) await handlers[topic]?.(JSON.parse(payload), { last })
}

const person = [{ name: 'people', label: 'People', kind: 'number', required: true }]

onBothDialects('jobs of runs', (fresh) => {
  const room = async () => {
    const one = await aTasksWorld(await fresh())
    await storedSpace(one, 'spc_4b')
    await storedSpace(one, 'spc_hall', '!hall:school')
    await joined(one, 'mia', 'spc_4b', 'spc_hall')
    return one
  }

  test('a message goes to the room of the space, once per token, with its texts filled', async () => {
    const one = await room()
    const id = await aBoard(
      one,
      's > m1 > m2 > t1 > e',
      {
        m1: { body: '{board} ({run}): {people}' },
        m2: { body: 'second', room: '!hall:school' },
      },
      { variables: [{ name: 'people', type: 'number' }] },
    )
    const run = await aRun(one, id, { spaceId: 'spc_4b', variables: { people: 3 } })
    const sent: object[] = []
    const sendMessage = async (message: object) => `$${sent.push(message)}`
    await work(one, { sendMessage })
    await work(one, { sendMessage })
    expect(sent).toEqual([
      { tenantId: 'ten_one', roomId: '!room:one', body: `Crisis (${run.id}): 3`, transactionId: `${run.id}.t1` },
      { tenantId: 'ten_one', roomId: '!hall:school', body: 'second', transactionId: `${run.id}.t2` },
    ])
    expect(await one.db.selectFrom('jobs').select('payload').where('payload', 'like', '%second%').execute()).toEqual([])
  })

  test('a message waits while the chat server is away, and is given up only when the server refuses it', async () => {
    const one = await room()
    await aRun(one, await aBoard(one, 's > m1 > e'), { spaceId: 'spc_4b' })
    const status = async () => (await one.db.selectFrom('run_messages').select('status').executeTakeFirstOrThrow()).status
    const away = { sendMessage: () => Promise.reject(problem('HOMESERVER_UNREACHABLE', 'fenced')) }
    await expect(work(one, away, { last: true })).rejects.toMatchObject({ code: 'HOMESERVER_UNREACHABLE' })
    expect(await status()).toBe('pending')
    const refused = { sendMessage: () => Promise.reject(problem('NO_ROOM', 'gone')) }
    await expect(work(one, refused)).rejects.toMatchObject({ code: 'NO_ROOM' })
    await work(one, refused, { last: true })
    expect(await status()).toBe('failed')
    const { id } = await one.db.selectFrom('runs').select('id').executeTakeFirstOrThrow()
    expect((await one.as('anna').showRun({ params: { id } })).messages).toMatchObject([{ elementId: 'm1', status: 'failed' }])
    const alerts = await one.db.selectFrom('alerts').select(['kind', 'subject']).execute()
    expect(alerts).toEqual([{ kind: 'run_output_failed', subject: `one/${id}` }])
  })

  test('a message to a room whose space was deleted fails at once', async () => {
    const one = await room()
    await one.db.updateTable('spaces').set({ deleted_at: '2026-01-05T00:00:00.000Z' }).where('id', '=', 'spc_hall').execute()
    await aRun(one, await aBoard(one, 's > m1 > e', { m1: { room: '!hall:school' } }), { spaceId: 'spc_4b' })
    const sent: object[] = []
    await work(one, { sendMessage: async (message: object) => `$${sent.push(message)}` })
    expect(sent).toEqual([])
    expect(await one.db.selectFrom('alerts').select('kind').execute()).toEqual([{ kind: 'run_output_failed' }])
  })

  test('a refused message delays no other room, and the next one to its room by half a minute', async () => {
    const one = await room()
    const hall = { room: '!hall:school', body: 'refused' }
    const id = await aBoard(one, 's > m1 > m2 > m3 > e', { m1: hall, m2: { body: 'leave' }, m3: { ...hall, body: 'next' } })
    await aRun(one, id, { spaceId: 'spc_4b' })
    const startMs = one.clock.now().getTime()
    const sent: [string, number][] = []
    const sendMessage = async ({ body }: { body: string }) => {
      if (body === 'refused') throw problem('NO_ROOM', 'gone')
      return `$${sent.push([body, one.clock.now().getTime() - startMs])}`
    }
    const handlers = flowsFeature.jobs?.({ ...one, sendMessage } as never) ?? {}
    for (let seconds = 0; seconds <= 30; seconds += 2) {
      await drainJobs({ ...one, handlers })
      await one.clock.advance(2_000)
    }
    expect(sent).toEqual([
      ['leave', 0],
      ['next', 30_000],
    ])
    expect(await one.db.selectFrom('alerts').select('kind').execute()).toEqual([{ kind: 'run_output_failed' }])
  })

  test('a report becomes files of the space, and its readers find them', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ display_name: 'Anna Maier' }).where('id', '=', 'anna').execute()
    await one.db.updateTable('tenants').set({ time_zone: 'Europe/Berlin' }).execute()
    const started = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'short' })
    const at = started.format(one.clock.now())
    const id = await aBoard(
      one,
      's > r1 > e',
      { r1: { title: 'Report', template: '# {board}\n{startedBy} {startedAt} {note}' } },
      { variables: [{ name: 'note', type: 'text' }] },
    )
    const run = await aRun(one, id, { spaceId: 'spc_4b' })
    const stored: object[] = []
    const storeReport = async (report: object) => {
      stored.push(report)
      return { markdownFileId: 'fil_md', pdfFileId: 'fil_pdf' }
    }
    await work(one, { storeReport })
    await work(one, { storeReport })
    const { reports } = await one.as('anna').showRun({ params: { id: run.id } })
    const params = { id: reports[0]?.id as string }
    expect(stored).toMatchObject([{ tenantId: 'ten_one', spaceId: 'spc_4b', key: params.id, createdBy: 'anna', title: 'Report' }])
    expect(await one.as('anna').showReport({ params })).toMatchObject({
      ...{ status: 'ready', markdown: expect.stringContaining('# Crisis\nAnna Maier '), missing: ['note'], spaceId: 'spc_4b' },
      ...{ markdownFileId: 'fil_md', pdfFileId: 'fil_pdf' },
    })
    expect((await one.as('anna').showReport({ params })).markdown.replaceAll('\\', '')).toContain(`${at} (Europe/Berlin) (none)`)
    for (const who of ['ben', 'olga']) await expect(one.as(who).showReport({ params })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('a report waits while the object store is away', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > r1 > e'), { spaceId: 'spc_4b' })
    const away = { storeReport: () => Promise.reject(problem('OBJECT_STORE_UNAVAILABLE', 'no answer')) }
    await expect(work(one, away, { last: true })).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
    const status = async () => (await one.as('anna').showRun({ params: { id: run.id } })).reports[0]?.status
    expect(await status()).toBe('pending')
    await work(one)
    expect(await status()).toBe('ready')
  })

  test('without its space a report fails, keeps its text and raises an alert', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > r1 > e'), { spaceId: 'spc_4b' })
    await work(one, { storeReport: () => Promise.reject(problem('NOT_FOUND', 'gone')) })
    expect((await one.as('anna').showRun({ params: { id: run.id } })).reports).toMatchObject([{ status: 'failed' }])
    const alerts = await one.db.selectFrom('alerts').select(['kind', 'subject', 'command']).execute()
    const command = `tenantry runs show ${run.id} --tenant one`
    expect(alerts).toEqual([{ kind: 'run_output_failed', subject: `one/${run.id}`, command }])
  })

  test('a report that the quota refuses at the last attempt raises an alert, until a retry stores it', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > r1 > e'), { spaceId: 'spc_4b' })
    const reports = async () => (await one.as('anna').showRun({ params: { id: run.id } })).reports.map(({ status }) => status)
    const alerts = () => one.db.selectFrom('alerts').select(['kind', 'status', 'count', 'body', 'closed_because']).execute()
    const refused = { storeReport: () => Promise.reject(problem('QUOTA_EXCEEDED', 'full')) }
    await expect(work(one, refused)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect([await reports(), await alerts()]).toEqual([['pending'], []])
    // The job fails too, so that an operator can retry it.
    for (const _ of [1, 2]) await expect(work(one, refused, { last: true })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect([await reports(), await alerts()]).toMatchObject([['failed'], [{ kind: 'run_output_failed', status: 'open', count: 2 }]])
    expect((await alerts())[0]?.body).toContain(
      `the element r1 in run ${run.id} of board ${run.boardId} was not stored, because the files of one`,
    )
    await work(one)
    expect([await reports(), await alerts()]).toMatchObject([['ready'], [{ status: 'closed', closed_because: 'the report was stored' }]])
  })

  test('a report that cannot be stored when its run is deleted raises no alert that stays open', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > r1 > e', {}, { retentionDays: 30 }), { spaceId: 'spc_4b' })
    await expect(work(one, { storeReport: () => Promise.reject(new Error('odd')) }, { last: true })).rejects.toThrow('odd')
    const deleteRuns = async () => {
      await one.clock.advance(31 * 86_400_000)
      await flowsFeature.cleanup?.(one as never)[0]?.(new AbortController().signal)
      throw problem('QUOTA_EXCEEDED', 'full')
    }
    await expect(work(one, { storeReport: deleteRuns }, { last: true })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    const alerts = await one.db.selectFrom('alerts').select(['kind', 'subject', 'status']).execute()
    expect(alerts).toEqual([{ kind: 'run_output_failed', subject: `one/${run.id}`, status: 'closed' }])
  })

  test('ended runs are deleted after the days of their board, unfinished ones never', async () => {
    const one = await room()
    const id = await aBoard(one, 's > r1 > m1 > t1 > e', {}, { retentionDays: 30, sla: 'PT1H' })
    const [ended, waiting] = [await aRun(one, id, { spaceId: 'spc_4b' }), await aRun(one, id, { spaceId: 'spc_4b' })]
    await one.as('tim').advanceRun({ params: { id: ended.id }, body: { elementId: 't1', action: 'complete' } })
    await work(one, { sendMessage: () => Promise.reject(problem('NO_ROOM', 'gone')) }, { last: true })
    const alerts = async () => {
      const rows = await one.db.selectFrom('alerts').select(['subject', 'status']).where('kind', '=', 'run_output_failed').execute()
      return new Map(rows.map(({ subject, status }) => [subject, status]))
    }
    const clean = () => flowsFeature.cleanup?.(one as never)[0]?.(new AbortController().signal)
    await one.clock.advance(29 * 86_400_000)
    expect(await clean()).toBe('0 old runs')
    await one.clock.advance(86_400_000)
    expect(await clean()).toBe('1 old run')
    expect((await one.as('mia').listRuns({ params: { id } })).runs.map((run) => run.id)).toEqual([waiting.id])
    expect(await alerts()).toEqual(
      new Map([
        [`one/${ended.id}`, 'closed'],
        [`one/${waiting.id}`, 'open'],
      ]),
    )
    for (const table of ['run_history', 'run_elements', 'run_messages', 'run_reports'] as const)
      expect(
        (await one.db.selectFrom(table).select('run_id').execute()).every(({ run_id }) => run_id === waiting.id),
        table,
      ).toBe(true)
  })

  test('a deleted run takes along its signatures and uploads of forms, and ends the tasks of a failed run', async () => {
    const one = await room()
    const form = {
      assignedRole: 'teacher',
      fields: [
        { name: 'plan', label: 'Plan', kind: 'file' },
        { name: 'phone', label: 'Phone', kind: 'text', required: true },
      ],
    }
    const failing = 's > p1; p1 > t1 > e1; p1 > f1 > d1; d1 -bool(vars.phone)-> e2; d1 -else-> e3'
    const id = await aBoard(one, failing, { f1: form }, { retentionDays: 30 })
    const run = await aRun(one, id, { spaceId: 'spc_4b' })
    const file = { id: 'fil_1', tenant_id: 'ten_one', space_id: 'spc_4b', folder_id: null, name: 'plan', bytes: 1, content_type: 'x' }
    const times = { created_by: 'tim', created_at: run.startedAt, updated_at: run.startedAt, deleted_at: null, erase_at: null }
    await one.db
      .insertInto('files')
      .values({ ...file, ...times, shown_as: null, sha256: 'ab', state: 'ready' })
      .execute()
    const data = { plan: 'fil_1', phone: 'x' }
    await one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data } })
    expect((await one.as('mia').showRun({ params: { id: run.id } })).status).toBe('failed')
    const task = () => one.db.selectFrom('tasks').select('status').where('run_id', '=', run.id).executeTakeFirst()
    expect(await task()).toEqual({ status: 'open' })
    const erased: unknown[] = []
    const eraseFiles = async (...given: unknown[]) => void erased.push(given)
    await one.clock.advance(31 * 86_400_000)
    const deleted = await flowsFeature.cleanup?.({ ...one, eraseFiles } as never)[0]?.(new AbortController().signal)
    if (deleted === '0 old runs') {
      // A failed run can be continued, so only its end counts.
      await one.db.updateTable('runs').set({ expires_at: one.clock.now().toISOString() }).execute()
      await flowsFeature.cleanup?.({ ...one, eraseFiles } as never)[0]?.(new AbortController().signal)
    }
    expect(erased).toEqual([['ten_one', [{ id: 'fil_1', uploaded: { by: 'tim', since: run.startedAt } }]]])
    expect(await task()).toEqual({ status: 'cancelled' })
    expect(await one.db.selectFrom('runs').select('id').execute()).toEqual([])
  })

  test('a task or form that no active user can do warns at the start', async () => {
    const one = await room()
    const work = { assignedRole: 'school-principal', escalationRole: 'head' }
    const id = await aBoard(one, 's > p1 > t1 > e1; p1 > f1 > e2', { t1: work, f1: { ...work, fields: person } })
    const warnings = async () => (await aRun(one, id)).warnings.map(({ code, elementId }) => [code, elementId])
    expect(await warnings()).toEqual([
      ['NOBODY_IN_ROLE', 't1'],
      ['NOBODY_IN_ROLE', 'f1'],
    ])
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', 'ben').execute()
    expect(await warnings()).toEqual([])
  })

  test('the tasks that an erased user took return to their role', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', 'ben').execute()
    const task = await one.as('mia').createTask({ body: { title: 'Count', assignedRole: 'school-principal' } })
    await one.as('ben').startTask({ params: { id: task.id } })
    await eraseUser({ ...one, ...userPorts, eraseSteps: [] }, anOperator, { slug: 'one', localpart: 'ben' })
    await tasksFeature.jobs?.(one)['tasks.return']?.({ tenantId: 'ten_one', userId: 'ben' }, { last: false })
    const returns = () => one.db.selectFrom('jobs').select('payload').where('topic', '=', 'tasks.return').execute()
    expect((await returns()).map(({ payload }) => JSON.parse(payload))).toEqual([{ tenantId: 'ten_one', userId: 'ben' }])
    expect(await one.as('mia').showTask({ params: { id: task.id } })).toMatchObject({ assigneeId: null, status: 'open' })
  })

  test('an escalated task is in no list of checkpoints', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', 'ben').execute()
    await aRun(one, await aBoard(one, 's > t1 > e', { t1: { dueAt: 'PT1H', escalationRole: 'school-principal' } }))
    await one.clock.advance(3_600_000)
    await fireTimers(one)
    expect((await one.as('ben').listTasks()).tasks).toMatchObject([{ title: 't1', assignedRole: 'school-principal' }])
    expect((await one.as('ben').listCheckpoints()).checkpoints).toEqual([])
  })

  test('a task that escalated at the end of the time of its run stays with the user who began it since', async () => {
    const one = await room()
    const late = { dueAt: 'PT10H', escalationRole: 'head' }
    const run = await aRun(one, await aBoard(one, 's > t1 > e', { t1: late }, { sla: 'PT5H' }))
    await one.clock.advance(5 * 3_600_000)
    await fireTimers(one)
    const [task] = (await one.as('mia').listTasks()).tasks
    await one.as('mia').startTask({ params: { id: task?.id as string } })
    await one.clock.advance(5 * 3_600_000)
    await fireTimers(one)
    const begun = { assignedRole: 'head', assigneeId: 'mia', status: 'in_progress', escalationLevel: 1 }
    expect((await one.as('mia').listTasks()).tasks).toMatchObject([begun])
    expect(await one.db.selectFrom('run_timers').select('token_id').where('run_id', '=', run.id).execute()).toEqual([])
  })

  test('several late elements of a run raise one alert, which closes with the last of them', async () => {
    const one = await room()
    const late = { assignedRole: 'teacher', dueAt: 'PT1H' }
    const run = await aRun(one, await aBoard(one, 's > p1 > t1 > e1; p1 > t2 > e2; p1 > t3 > e3', { t1: late, t2: late }))
    await one.clock.advance(3_600_000)
    await fireTimers(one)
    const alerts = () => one.db.selectFrom('alerts').select(['kind', 'status', 'body']).orderBy('id').execute()
    expect(await alerts()).toMatchObject([{ kind: 'run_stalled', status: 'open', body: expect.stringContaining('So it is for 1 more') }])
    const complete = (elementId: string) => one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId, action: 'complete' } })
    await complete('t1')
    expect(await alerts()).toMatchObject([{ status: 'open' }])
    await complete('t2')
    expect(await alerts()).toMatchObject([{ status: 'closed' }])
  })

  test('a run that fails raises an alert until it is cancelled or retried, and its task names the failure', async () => {
    const one = await room()
    const code = { assignedRole: 'teacher', fields: [{ name: 'code', label: 'Code', kind: 'text', required: true }] }
    const id = await aBoard(one, `s > p1; p1 > t1 > e1; p1 > f1 > d1; d1 -vars.code.substring(0,2)=='AB'-> e2; d1 -else-> e3`, { f1: code })
    const run = await aRun(one, id)
    await one.as('tim').advanceRun({ params: { id: run.id }, body: { elementId: 'f1', action: 'submit', data: { code: 'A' } } })
    const alerts = async () => await one.db.selectFrom('alerts').select(['kind', 'status', 'body']).orderBy('id').execute()
    expect(await alerts()).toMatchObject([
      { kind: 'run_stalled', status: 'open', body: expect.stringContaining('EXPRESSION_FAILED at the element d1') },
    ])
    const [task] = (await one.as('mia').listTasks()).tasks
    const completed = one.as('tim').completeTask({ params: { id: task?.id as string } })
    await expect(completed).rejects.toMatchObject({ code: 'RUN_FAILED', message: expect.stringContaining('fix:') })
    await one.as('mia').cancelRun({ params: { id: run.id } })
    expect(await alerts()).toMatchObject([{ status: 'closed' }])
  })

  test('a rejection and a cancel raise no alert', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ roles: '["school-principal"]' }).where('id', '=', 'ben').execute()
    const id = await aBoard(one, 's > c1 > e')
    const [rejected, cancelled] = [await aRun(one, id), await aRun(one, id)]
    await one.as('ben').advanceRun({ params: { id: rejected.id }, body: { elementId: 'c1', action: 'reject' } })
    await one.as('mia').cancelRun({ params: { id: cancelled.id } })
    const alerts = () => one.db.selectFrom('alerts').select(['kind', 'status']).orderBy('id').execute()
    expect(await alerts()).toEqual([])
  })

  test('the end of the time raises an alert, which is sent to operators, until the element is done', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > t2 > e', { t1: { dueAt: 'PT10H', escalationRole: 'head' } }))
    const alerts = () => one.db.selectFrom('alerts').select(['kind', 'status', 'subject']).orderBy('id').execute()
    await one.clock.advance(9 * 3_600_000)
    await fireTimers(one)
    expect(await alerts()).toEqual([])
    await one.clock.advance(3_600_000)
    await fireTimers(one)
    await fireTimers(one)
    expect(await alerts()).toEqual([{ kind: 'run_stalled', status: 'open', subject: `one/${run.id}` }])
    expect(await one.db.selectFrom('jobs').select('id').where('topic', 'like', 'alerts.%').execute()).toHaveLength(1)
    const complete = { params: { id: run.id }, body: { elementId: 't1', action: 'complete' } } as const
    const [open] = (await one.as('mia').showRun({ params: { id: run.id } })).open
    expect(open?.assignedRole).toBe('head')
    const { body, command } = await one.db.selectFrom('alerts').select(['body', 'command']).executeTakeFirstOrThrow()
    expect([body, command]).toEqual([expect.stringContaining('The role head has it now.'), `tenantry runs show ${run.id} --tenant one`])
    // The task belongs to the other role now, whichever way it is completed.
    expect(await codeOf(one.as('tim').completeTask({ params: { id: open?.taskId as string } }))).toMatch(/FORBIDDEN|NOT_FOUND/)
    expect(await codeOf(one.as('tim').advanceRun(complete))).toBe('FORBIDDEN')
    await one.db.updateTable('users').set({ roles: '["head"]' }).where('id', '=', 'ben').execute()
    await one.as('ben').advanceRun(complete)
    expect(await alerts()).toMatchObject([{ status: 'closed' }])
  })

  test('the time of a run warns at 80 %, and at its end what waits goes to its escalation role', async () => {
    const one = await room()
    const run = await aRun(one, await aBoard(one, 's > t1 > e', { t1: { escalationRole: 'head' } }, { sla: 'PT10H' }))
    const warnings = () => one.db.selectFrom('events').select('payload').where('event_type', '=', 'sla.warning').execute()
    await one.clock.advance(8 * 3_600_000)
    await fireTimers(one)
    await fireTimers(one)
    expect((await warnings()).map(({ payload }) => JSON.parse(payload))).toMatchObject([{ runId: run.id, elementId: null }])
    await one.clock.advance(2 * 3_600_000)
    await fireTimers(one)
    expect((await one.as('mia').listTasks()).tasks).toMatchObject([{ assignedRole: 'head', escalationLevel: 1 }])
    const alerts = () => one.db.selectFrom('alerts').select(['kind', 'status']).orderBy('id').execute()
    expect(await alerts()).toEqual([{ kind: 'run_stalled', status: 'open' }])
    await one.as('mia').advanceRun({ params: { id: run.id }, body: { elementId: 't1', action: 'complete' } })
    expect(new Set((await alerts()).map(({ status }) => status))).toEqual(new Set(['closed']))
  })
})
