import { expect, test } from 'vitest'
import { recordEvent, recordModuleEvents } from '../../../../src/daemon/events/index.ts'
import type { StartRun } from '../../../../src/daemon/flows/triggers/deps.ts'
import { readEvents } from '../../../../src/daemon/flows/triggers/event-triggers.ts'
import { failedStartJobs } from '../../../../src/daemon/flows/triggers/failed-starts.ts'
import { drainJobs } from '../../../../src/daemon/work/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTriggersWorld, type TriggersWorld } from '../../../support/triggers-world.ts'

const done = { id: 'done', kind: 'event', eventType: 'task.updated', expression: "event.status == 'done'" }

onBothDialects('event triggers', (fresh) => {
  const world = async () => aTriggersWorld(await fresh())
  const happen = (one: TriggersWorld, payload: object, type: 'task.updated' | 'run.started' = 'task.updated') =>
    one.db.transaction().execute((tx) =>
      recordEvent(tx, one.clock, {
        tenantId: one.tenantId,
        type,
        payload: { taskId: 't', runId: 'r', boardId: 'b', ...payload } as never,
        audience: 'tenant',
      }),
    )

  test('each event that fits starts one run, also with two replicas and when it is read again', async () => {
    const one = await world()
    await happen(one, { status: 'done' })
    await one.publish([done])
    const seq = await happen(one, { status: 'done' })
    await happen(one, { status: 'open' })
    await happen(one, { status: 'done', spaceId: 'spc_2' })
    await Promise.all([readEvents(one), readEvents(one)])
    await one.db.updateTable('trigger_positions').set({ seq: 0 }).execute()
    await one.db.deleteFrom('events').where('seq', '<', seq).execute()
    await readEvents(one)
    expect(one.started).toMatchObject([
      { boardId: 'brd_1', spaceId: 'spc_1', startedBy: null, trigger: { type: 'event', occurrence: `event:${seq}:done` } },
    ])
  })

  test('an expression without a value is recorded as failed, and the next event is read', async () => {
    const one = await world()
    await one.publish([done])
    await happen(one, {})
    await happen(one, { status: 'done' })
    await readEvents(one)
    expect((await one.seen()).map(({ outcome }) => outcome).toSorted()).toEqual(['failed', 'started'])
    expect((await one.seen()).find(({ outcome }) => outcome === 'failed')?.reason).toContain("event.status == 'done' has no value")
    const check = () => drainJobs({ db: one.db, clock: one.clock, log: one.log, handlers: failedStartJobs(one) })
    await one.clock.advance(1_000)
    await happen(one, {})
    await readEvents(one)
    await check()
    const alerts = () => one.db.selectFrom('alerts').select(['kind', 'status']).execute()
    expect(await alerts()).toEqual([{ kind: 'trigger_failed', status: 'open' }])
    await one.archive()
    await check()
    expect(await alerts()).toEqual([{ kind: 'trigger_failed', status: 'closed' }])
  })

  test('other work of the daemon continues between two expressions', async () => {
    const one = await world()
    await one.publish(Array.from({ length: 20 }, (_, nth) => ({ ...done, id: `done${nth}` })))
    for (let nth = 0; nth < 10; nth++) await happen(one, { status: 'open' })
    let [isRead, rounds] = [false, 0]
    const reading = readEvents(one).then(() => {
      isRead = true
    })
    for (; !isRead; rounds++) await new Promise((resolve) => setImmediate(resolve))
    await reading
    expect(rounds).toBeGreaterThanOrEqual(200)
  })

  test('the position and the run commit together: after a failure the event is read again', async () => {
    const one = await world()
    await one.publish([done])
    await happen(one, { status: 'done' })
    one.runs.fail = new Error('killed')
    await readEvents(one)
    expect(one.started).toEqual([])
    one.runs.fail = undefined
    await readEvents(one)
    await readEvents(one)
    expect(one.started).toHaveLength(1)
  })

  test('a board that starts itself stops after five runs, and the loop is recorded', async () => {
    const one = await world()
    await one.publish([{ id: 'self', kind: 'event', eventType: 'run.started' }])
    const startRun: StartRun = async (tx, run) => {
      const { id } = await one.startRun(tx, run)
      const payload = { runId: id, boardId: run.boardId }
      await recordEvent(tx, one.clock, { tenantId: one.tenantId, type: 'run.started', payload, audience: 'tenant' })
      return { id }
    }
    await happen(one, {}, 'run.started')
    for (let round = 0; round < 10; round++) await readEvents({ ...one, startRun })
    expect(one.started).toHaveLength(5)
    expect((await one.seen()).filter(({ outcome }) => outcome === 'loop')).toHaveLength(1)
  })

  test('an event that a module published starts a run with its fields, and counts the runs of modules that led to it', async () => {
    const one = await world()
    await one.publish([{ id: 'missed', kind: 'event', eventType: 'module.attendance.missed', expression: "event.pupil == 'p1'" }])
    const publish = (depth: number, pupil: string) =>
      one.db.transaction().execute((tx) => {
        const payload = { moduleId: 'attendance', spaceId: null, runId: `mrn_${depth}`, depth, payload: { pupil, depth: 0, runId: 'x' } }
        const events = [{ type: 'module.attendance.missed', payload, audience: null } as const]
        return recordModuleEvents(tx, one.clock, { tenantId: one.tenantId, moduleId: 'attendance', events })
      })
    await publish(0, 'p1')
    await publish(0, 'p2')
    await publish(4, 'p1')
    await publish(5, 'p1')
    await readEvents(one)
    const seen = await one.db.selectFrom('trigger_occurrences').select(['depth', 'outcome']).orderBy('depth').execute()
    expect(seen).toEqual([
      { depth: 1, outcome: 'started' },
      { depth: 5, outcome: 'started' },
      { depth: 6, outcome: 'loop' },
    ])
  })

  test('a loop that grows with each run stops at 1,000 runs of a tenant within an hour, and is recorded once', async () => {
    const one = await world()
    await one.publish([done])
    const at = one.clock.now().toISOString()
    const row = { board_id: 'brd_1', tenant_id: one.tenantId, trigger_id: 'done', kind: 'event', outcome: 'started', reason: null } as const
    const rows = Array.from({ length: 1_000 }, (_, n) => ({
      ...{ ...row, occurrence: `event:x${n}:done`, run_id: `run_${n}`, depth: n < 998 ? 1 + (n % 2) : 0, room_id: null, at },
    }))
    for (let n = 0; n < 1_000; n += 50)
      await one.db
        .insertInto('trigger_occurrences')
        .values(rows.slice(n, n + 50))
        .execute()
    await happen(one, { status: 'done', runId: 'run_by_a_user' })
    for (let n = 0; n < 3; n++) await happen(one, { status: 'done', runId: 'run_7' })
    await readEvents(one)
    expect(one.started).toHaveLength(2)
    const loops = await one.db.selectFrom('trigger_occurrences').select('reason').where('outcome', '=', 'loop').execute()
    expect(loops.map(({ reason }) => reason?.slice(0, 30))).toEqual(['1000 runs of this tenant were '])
    const byUser = await happen(one, { status: 'done', runId: undefined })
    await readEvents(one)
    expect(one.started).toHaveLength(3)
    expect(one.started.at(-1)?.trigger.occurrence).toBe(`event:${byUser}:done`)
    await one.clock.advance(3_600_001)
    await happen(one, { status: 'done', runId: 'run_7' })
    await readEvents(one)
    expect(one.started).toHaveLength(4)
  })

  test('a tenant whose events start many runs delays another tenant by one page, also within one event', async () => {
    const one = await world()
    const at = one.clock.now().toISOString()
    const two = { id: 'ten_two', slug: 'two', chat_domain: 'two.example', name: 'Two', plan: 'light', status: 'active' } as const
    await one.db
      .insertInto('tenants')
      .values({ ...two, created_at: at })
      .execute()
    const [noisy, other] = [one.tenantId < two.id ? one.tenantId : two.id, one.tenantId < two.id ? two.id : one.tenantId]
    const twelve = Array.from({ length: 12 }, (_, nth) => ({ ...done, id: `done${nth}` }))
    await one.publish(twelve, { tenantId: noisy })
    await one.publish([done], { id: 'brd_2', tenantId: other })
    for (const tenantId of [noisy, noisy, other])
      await happen({ ...one, tenantId: tenantId as TriggersWorld['tenantId'] }, { status: 'done', runId: undefined })
    const startRun: StartRun = async (tx, run) => {
      await one.clock.advance(400)
      return one.startRun(tx, run)
    }
    await readEvents({ ...one, startRun })
    expect(one.started).toHaveLength(25)
    expect(one.started.findIndex(({ tenantId }) => tenantId === other)).toBeLessThanOrEqual(3)
  })

  test('the published boards of a tenant have at most 200 triggers', async () => {
    const one = await world()
    const twenty = Array.from({ length: 20 }, (_, nth) => ({ ...done, id: `done${nth}` }))
    for (let n = 0; n < 10; n++) await one.publish(twenty, { id: `brd_${n}` })
    await expect(one.publish([done], { id: 'brd_10' })).rejects.toThrow(/have 201 triggers; the limit is 200/)
    await one.publish(twenty, { id: 'brd_9' })
    await one.archive('brd_9')
    await one.publish([done], { id: 'brd_10' })
  })

  test('a long backlog is read in pages', async () => {
    const one = await world()
    await one.publish([done])
    for (let n = 0; n < 120; n++) await happen(one, { status: 'done' })
    await readEvents(one)
    expect(one.started).toHaveLength(120)
  })

  test('an archived board reads no events, and one that is published again begins with new ones', async () => {
    const one = await world()
    await one.publish([done])
    await one.archive()
    await happen(one, { status: 'done' })
    await readEvents(one)
    await one.publish([done])
    await readEvents(one)
    expect(one.started).toEqual([])
  })
})
