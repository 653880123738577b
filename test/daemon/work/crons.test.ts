import { expect, test, vi } from 'vitest'
import { makeClient } from '../../../src/core/contract/index.ts'
import { cronsContract } from '../../../src/core/crons/index.ts'
import { isProblem, manualClock } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { type Cron, defineCron } from '../../../src/daemon/feature/index.ts'
import { cronHandler, cronsRoutes, cronTopic, drainJobs, enqueueDueCrons } from '../../../src/daemon/work/index.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { servedApp } from '../../support/served-app.ts'
import { never, stopped } from '../../support/stopped-clock.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const retryMs = 5000

/** A cron at minute 7 of every hour that counts how often it ran, and can be made to last. */
function aCron() {
  const cron = { ran: 0, wait: Promise.resolve() as Promise<unknown>, failure: undefined as string | undefined }
  const defined = defineCron({
    key: 'count-things',
    expression: '7 * * * *',
    description: 'Counts',
    run: async () => {
      cron.ran++
      await cron.wait
      if (cron.failure) throw new Error(cron.failure)
      return `counted ${cron.ran}`
    },
  })
  return Object.assign(cron, { defined })
}

function aReplica(db: Db, cron: Cron, clock = manualClock()) {
  const deps = { db, clock, random: systemRandom, log: silentLogger(), crons: () => [cron] }
  const enqueue = enqueueDueCrons(deps, deps.crons)
  const handlers = { [cronTopic]: cronHandler(deps) }
  const drain = (signal?: AbortSignal) => drainJobs({ ...deps, handlers }, signal)
  const look = async () => {
    await enqueue()
    await drain()
  }
  /** Takes the run and is killed during it. */
  const die = async () => {
    let isTaken = false
    const killed = { ...deps, clock: stopped(clock), handlers: { [cronTopic]: () => never(() => (isTaken = true)) } }
    await enqueue()
    void drainJobs(killed)
    await vi.waitFor(() => expect(isTaken).toBe(true), { timeout: 15_000 })
    await clock.advance(minuteMs)
  }
  return { ...deps, enqueue, drain, look, die }
}

const history = async (db: Db) =>
  (await db.selectFrom('cron_runs').select(['status', 'started_at', 'message']).orderBy('started_at').orderBy('occurrence').execute()).map(
    ({ status, started_at, message }) => `${status} ${started_at.slice(11, 16)} ${message}`,
  )

async function anApi(deps: Parameters<typeof cronsRoutes>[0]) {
  const { url: baseUrl } = await servedApp(cronsRoutes(deps), { authenticate: { admin: async () => anOperator }, clock: deps.clock })
  return makeClient(cronsContract, { baseUrl, headers: () => ({ connection: 'close' }) })
}

onBothDialects('crons', (fresh) => {
  test('a run taken by a former replica, which lacks the cron, is left to a newer one', async () => {
    const [db, clock, cron] = [await fresh(), manualClock(), aCron()]
    const newer = aReplica(db, cron.defined, clock)
    const former = aReplica(db, { ...cron.defined, key: 'another' }, clock)
    await newer.look()
    await clock.advance(7 * minuteMs)
    await newer.enqueue()
    await former.drain()
    expect(await history(db)).toEqual(['running 02:07 null'])
    await clock.advance(retryMs)
    await newer.drain()
    expect(await history(db)).toEqual([expect.stringMatching(/^succeeded .* counted 1$/)])
  })

  test('a cron runs at its time on one replica, not before, and a new one has missed nothing', async () => {
    const [db, clock, cron] = [await fresh(), manualClock(), aCron()]
    const replicas = [aReplica(db, cron.defined, clock), aReplica(db, cron.defined, clock)]
    const look = () => Promise.all(replicas.map((replica) => replica.look()))
    await look()
    await clock.advance(6 * minuteMs)
    await look()
    expect(cron.ran).toBe(0)
    for (let hour = 0; hour < 3; hour++) {
      await clock.advance(hour === 0 ? minuteMs : hourMs)
      await look()
      await look()
    }
    expect(await history(db)).toEqual(['02:07 counted 1', '03:07 counted 2', '04:07 counted 3'].map((run) => `succeeded ${run}`))
  })

  test('what was missed while nobody was there is recorded, and the cron runs once in its place', async () => {
    const [cron, db] = [aCron(), await fresh()]
    const replica = aReplica(db, cron.defined)
    await replica.look()
    await replica.clock.advance(3 * hourMs + 30 * minuteMs)
    await Promise.all([replica.look(), aReplica(db, cron.defined, replica.clock).look()])
    const missed = ['02:07', '03:07', '04:07', '05:07'].map((at) => `missed ${at} no daemon ran at its time`)
    expect(await history(db)).toEqual([...missed, 'succeeded 05:30 counted 1'])
    await replica.clock.advance(30 * 24 * hourMs)
    await replica.look()
    expect(cron.ran).toBe(2)
    expect(await history(db)).toHaveLength(5 + 101)
  })

  test('a due time during a run is skipped, visibly', async () => {
    const [cron, db] = [aCron(), await fresh()]
    const replica = aReplica(db, cron.defined)
    let finish = (_: unknown) => {}
    cron.wait = new Promise((resolve) => {
      finish = resolve
    })
    await replica.look()
    await replica.clock.advance(7 * minuteMs)
    const drained = replica.look()
    await vi.waitFor(() => expect(cron.ran).toBe(1), { timeout: 15_000 })
    await replica.clock.advance(hourMs)
    await replica.enqueue()
    finish(undefined)
    await drained
    expect((await history(db)).map((run) => run.replace(/(run of).*/, '$1'))).toEqual([
      'succeeded 02:07 counted 1',
      'skipped 03:07 the run of',
    ])
  })

  test('the run of a killed or stopped daemon is taken over, and given up when it ends one daemon after the other', async () => {
    const [cron, db] = [aCron(), await fresh()]
    const dying = aReplica(db, cron.defined)
    const other = aReplica(db, cron.defined, dying.clock)
    await dying.look()
    await dying.clock.advance(7 * minuteMs)
    await dying.die()
    const stopping = new AbortController()
    cron.wait = new Promise((resolve) => stopping.signal.addEventListener('abort', resolve))
    const drained = other.drain(stopping.signal)
    await vi.waitFor(() => expect(cron.ran).toBe(1), { timeout: 15_000 })
    stopping.abort()
    await drained
    expect(await history(db)).toEqual(['running 02:08 null'])
    await dying.clock.advance(retryMs)
    await other.drain()
    expect(await history(db)).toEqual(['succeeded 02:08 counted 2'])
    await dying.clock.advance(hourMs)
    for (let nth = 0; nth < 5; nth++) await dying.die()
    await other.drain()
    expect([(await history(db)).at(-1), cron.ran]).toEqual(['failed 03:13 its daemon stopped or died 5 times before its end', 2])
  })

  test('an alerted cron that fails raises an alert, which its own jobs close', async () => {
    const [cron, db] = [aCron(), await fresh()]
    const replica = aReplica(db, { ...cron.defined, isAlerted: true })
    const alerts = () => db.selectFrom('alerts').select(['key', 'status', 'count']).execute()
    await replica.look()
    cron.failure = 'the database did not answer'
    await replica.clock.advance(hourMs)
    await replica.look()
    cron.failure = undefined
    await replica.clock.advance(hourMs)
    await replica.look()
    expect(await alerts()).toEqual([{ key: 'jobs_stuck:cron:count-things', status: 'open', count: 1 }])
  })

  test('a cron that finished with its change has succeeded and does not run again, although its process died', async () => {
    const db = await fresh()
    let ran = 0
    const run = async ({ finish }: Parameters<Cron['run']>[0]): Promise<string> => {
      await db.transaction().execute(async (tx) => finish?.(tx, 'queued'))
      ran++
      return new Promise(() => {})
    }
    const replica = aReplica(db, { ...aCron().defined, isAlerted: true, run })
    await replica.look()
    await replica.clock.advance(7 * minuteMs)
    await replica.enqueue()
    const handlers = { [cronTopic]: cronHandler(replica) }
    void drainJobs({ ...replica, clock: stopped(replica.clock), handlers })
    await vi.waitFor(() => expect(ran).toBe(1), { timeout: 15_000 })
    await replica.clock.advance(2 * minuteMs)
    await replica.drain()
    expect([await history(db), ran]).toEqual([['succeeded 02:07 queued'], 1])
    expect(await db.selectFrom('jobs').select('id').execute()).toEqual([])
    expect(await db.selectFrom('alerts').select('key').execute()).toEqual([])
  })

  test('a cron that throws is failed with its reason, and runs again at its next time, not before', async () => {
    const [cron, db] = [aCron(), await fresh()]
    const replica = aReplica(db, cron.defined)
    await replica.look()
    cron.failure = 'the shelf is empty'
    await replica.clock.advance(7 * minuteMs)
    await replica.look()
    cron.failure = undefined
    await replica.clock.advance(59 * minuteMs)
    await replica.look()
    expect(await history(db)).toEqual(['failed 02:07 the shelf is empty'])
    await replica.clock.advance(minuteMs)
    await replica.look()
    expect(await history(db)).toEqual(['failed 02:07 the shelf is empty', 'succeeded 03:07 counted 2'])
  })

  test('by hand: run, recorded in the history, audited; refused while it runs', async () => {
    const [cron, db] = [aCron(), await fresh()]
    const replica = aReplica(db, cron.defined)
    const api = await anApi(replica)
    const params = { jobKey: 'count-things' }
    const trigger = async (waitMs = 250) => {
      const answer = api.triggerCron({ params })
      await vi.waitFor(() => expect(replica.clock.sleepers()).toBe(1), { timeout: 15_000 })
      if (waitMs === 250) await replica.drain()
      for (let waitedMs = 0; waitedMs < waitMs; waitedMs += 250) {
        await vi.waitFor(() => expect(replica.clock.sleepers()).toBe(1), { interval: 1, timeout: 15_000 })
        await replica.clock.advance(250)
      }
      return answer
    }
    expect(await trigger()).toEqual({ success: true, message: 'counted 1' })
    cron.failure = 'the shelf is empty'
    expect(await trigger()).toEqual({ success: false, message: 'the shelf is empty' })
    const { runs } = await api.cronHistory({ params })
    expect(runs.map(({ status }) => status)).toEqual(['failed', 'succeeded'])
    expect(Object.keys(runs[0] ?? {}).sort()).toEqual(['duration_ms', 'finished_at', 'job_key', 'message', 'started_at', 'status'])
    const audited = await db.selectFrom('audit').select(['action', 'subject', 'actor']).execute()
    expect(audited[0]).toEqual({ action: 'cron.triggered', subject: 'count-things', actor: 'admin:anna' })
    expect((await trigger(30_000)).message).toContain('is running')
    await expect(api.triggerCron({ params })).rejects.toSatisfy((error) => isProblem(error, 'CONFLICT'))
  })

  test('the list has each cron, when it is next and how it went last', async () => {
    const cron = aCron()
    const api = await anApi(aReplica(await fresh(), cron.defined))
    expect((await api.listCrons()).crons).toEqual([
      {
        jobKey: 'count-things',
        expression: '7 * * * *',
        timeZone: 'UTC',
        description: 'Counts',
        nextRunAt: '2026-01-05T02:07:00.000Z',
        lastRun: null,
      },
    ])
    await expect(api.triggerCron({ params: { jobKey: 'no-such-job' } })).rejects.toSatisfy((error) => isProblem(error, 'NOT_FOUND'))
    await expect(api.cronHistory({ params: { jobKey: 'Bad Key' } })).rejects.toSatisfy((error) => isProblem(error, 'VALIDATION'))
  })
})

test('an invalid expression fails where the cron is defined', () => {
  const cron = { key: 'x', description: '', run: async () => '' }
  expect(() => defineCron({ ...cron, expression: 'every day' })).toThrow()
  expect(() => defineCron({ ...cron, expression: '61 * * * *' })).toThrow()
})
