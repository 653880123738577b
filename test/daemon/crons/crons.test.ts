import { expect, test, vi } from 'vitest'
import { makeClient } from '../../../src/core/contract/index.ts'
import { cronsContract } from '../../../src/core/crons/index.ts'
import { isProblem, manualClock } from '../../../src/core/kit/index.ts'
import { beginAllDue, type CronsDeps, cronsRoutes, runScheduler, trackRuns } from '../../../src/daemon/crons/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { type Cron, defineCron } from '../../../src/daemon/feature/index.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { servedApp } from '../../support/served-app.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const going = new AbortController().signal

/** A job at minute 7 of every hour that counts how often it ran, and can be made to last. */
function aJob(key = 'count-things') {
  const job = { ran: 0, wait: Promise.resolve() as Promise<unknown>, failure: undefined as string | undefined }
  const defined = defineCron({
    key,
    expression: '7 * * * *',
    description: 'Counts',
    run: async () => {
      job.ran++
      await job.wait
      if (job.failure) throw new Error(job.failure)
      return `counted ${job.ran}`
    },
  })
  return Object.assign(job, { defined })
}

function aReplica(db: Db, clock = manualClock(), owner = 'a', jobs: readonly Cron[] = []) {
  const failures: unknown[] = []
  const runs = trackRuns((error) => failures.push(error))
  const deps = { db, clock, random: systemRandom, log: silentLogger(), owner, runs, jobs, draining: going }
  const look = async (...due: Cron[]) => {
    await beginAllDue(deps, due, going)
    await runs.settled()
    expect(failures).toEqual([])
  }
  return { ...deps, look }
}

const history = async (db: Db) =>
  (await db.selectFrom('cron_runs').select(['status', 'started_at', 'message']).orderBy('started_at').orderBy('occurrence').execute()).map(
    ({ status, started_at, message }) => `${status} ${started_at.slice(11, 16)} ${message}`,
  )

async function anApi(deps: CronsDeps) {
  const { url: baseUrl } = await servedApp(cronsRoutes(deps), { authenticate: { admin: async () => anOperator }, clock: deps.clock })
  return makeClient(cronsContract, { baseUrl, headers: () => ({ connection: 'close' }) })
}

onBothDialects('crons', (fresh) => {
  test('a job runs at its time, not before, and a new job has missed nothing', async () => {
    const job = aJob()
    const replica = aReplica(await fresh())
    await replica.look(job.defined)
    await replica.clock.advance(6 * minuteMs)
    await replica.look(job.defined)
    expect(job.ran).toBe(0)
    await replica.clock.advance(minuteMs)
    await replica.look(job.defined)
    await replica.look(job.defined)
    expect(await history(replica.db)).toEqual(['succeeded 02:07 counted 1'])
  })

  test('of two replicas one runs it', async () => {
    const [db, clock, job] = [await fresh(), manualClock(), aJob()]
    const [a, b] = [aReplica(db, clock, 'a'), aReplica(db, clock, 'b')]
    await a.look(job.defined)
    for (let hour = 0; hour < 5; hour++) {
      await clock.advance(hour === 0 ? 7 * minuteMs : hourMs)
      await Promise.all([a.look(job.defined), b.look(job.defined)])
    }
    expect(job.ran).toBe(5)
    expect(await history(db)).toHaveLength(5)
  })

  test('what was missed while nobody was there is told, and the job runs once in its place', async () => {
    const [job, replica] = [aJob(), aReplica(await fresh())]
    await replica.look(job.defined)
    await replica.clock.advance(3 * hourMs + 30 * minuteMs)
    await Promise.all([replica.look(job.defined), aReplica(replica.db, replica.clock, 'b').look(job.defined)])
    const missed = (at: string) => `missed ${at} no daemon ran at its time`
    expect(await history(replica.db)).toEqual([
      missed('02:07'),
      missed('03:07'),
      missed('04:07'),
      missed('05:07'),
      'succeeded 05:30 counted 1',
    ])
  })

  test('of very many missed runs only the newest are told', async () => {
    const [job, replica] = [aJob(), aReplica(await fresh())]
    await replica.look(job.defined)
    await replica.clock.advance(30 * 24 * hourMs)
    await replica.look(job.defined)
    expect(job.ran).toBe(1)
    expect(await history(replica.db)).toHaveLength(101)
  })

  test('an occurrence that falls into a run is skipped, visibly', async () => {
    const [job, replica] = [aJob(), aReplica(await fresh())]
    let finish = (_: unknown) => {}
    job.wait = new Promise((resolve) => {
      finish = resolve
    })
    await replica.look(job.defined)
    await replica.clock.advance(7 * minuteMs)
    await beginAllDue(replica, [job.defined], going)
    await vi.waitFor(() => expect(job.ran).toBe(1), { timeout: 15_000 })
    for (let twenty = 0; twenty < 180; twenty++) {
      await replica.clock.advance(20_000)
      await vi.waitFor(() => expect(replica.clock.sleepers()).toBe(1), { interval: 1, timeout: 15_000 }) // the heartbeat has renewed its lease
    }
    await beginAllDue(replica, [job.defined], going)
    finish(undefined)
    await replica.runs.settled()
    expect((await history(replica.db)).map((run) => run.replace(/(run of).*/, '$1'))).toEqual([
      'succeeded 02:07 counted 1',
      'skipped 03:07 the run of',
    ])
  })

  test('a run whose process died is failed, and the next occurrence runs', async () => {
    const [job, dead] = [aJob(), aReplica(await fresh())]
    await dead.look(job.defined)
    await dead.clock.advance(7 * minuteMs)
    job.wait = new Promise(() => {})
    const frozen = { ...dead.clock, sleep: () => new Promise<void>(() => {}) } // its heartbeat stops too
    await beginAllDue({ ...dead, clock: frozen }, [job.defined], going)
    const other = aReplica(dead.db, dead.clock, 'b')
    await dead.clock.advance(hourMs)
    job.wait = Promise.resolve()
    await other.look(job.defined)
    expect(await history(dead.db)).toEqual(['failed 02:07 the process that ran it is gone', 'succeeded 03:07 counted 2'])
  })

  test('an alerted job that fails or loses its process raises an alert, which its own jobs close', async () => {
    const job = aJob()
    const alerted = { ...job.defined, isAlerted: true }
    const replica = aReplica(await fresh())
    const alerts = () => replica.db.selectFrom('alerts').select(['key', 'status', 'count']).execute()
    const open = { key: 'jobs_stuck:cron:count-things', status: 'open' }
    await replica.look(alerted)
    job.failure = 'the database did not answer'
    await replica.clock.advance(hourMs)
    await replica.look(alerted)
    expect(await alerts()).toEqual([{ ...open, count: 1 }])
    await replica.db.updateTable('cron_runs').set({ status: 'running', lease_until: replica.clock.now().toISOString() }).execute()
    await replica.look(alerted)
    expect(await alerts()).toEqual([{ ...open, count: 2 }])
    job.failure = undefined
    await replica.clock.advance(hourMs)
    await replica.look(alerted)
    expect(await alerts()).toEqual([{ ...open, count: 2 }])
  })

  test('an alerted job that finished with its change has not failed, although its process died', async () => {
    const dying = aReplica(await fresh())
    let isQueued = false
    const job = {
      ...aJob().defined,
      isAlerted: true,
      run: async ({ finish }: Parameters<Cron['run']>[0]): Promise<string> => {
        await dying.db.transaction().execute(async (tx) => finish?.(tx, 'queued'))
        isQueued = true
        return new Promise(() => {})
      },
    }
    const frozen = { ...dying.clock, sleep: () => new Promise<void>(() => {}) }
    await dying.look(job)
    await dying.clock.advance(7 * minuteMs)
    await beginAllDue({ ...dying, clock: frozen }, [job], going)
    await vi.waitFor(() => expect(isQueued).toBe(true))
    const other = aReplica(dying.db, dying.clock, 'b')
    await dying.clock.advance(2 * minuteMs)
    await other.look(job)
    expect(await history(dying.db)).toEqual(['succeeded 02:07 queued'])
    expect(await dying.db.selectFrom('alerts').select('key').execute()).toEqual([])
  })

  test('a job that throws is failed with its reason and runs again next time', async () => {
    const [job, replica] = [aJob(), aReplica(await fresh())]
    await replica.look(job.defined)
    job.failure = 'the shelf is empty'
    await replica.clock.advance(7 * minuteMs)
    await replica.look(job.defined)
    job.failure = undefined
    await replica.clock.advance(hourMs)
    await replica.look(job.defined)
    expect(await history(replica.db)).toEqual(['failed 02:07 the shelf is empty', 'succeeded 03:07 counted 2'])
  })

  test('the scheduler wakes for each occurrence and stops with its signal, runs finished', async () => {
    const [job, replica] = [aJob(), aReplica(await fresh())]
    const stop = new AbortController()
    const over = runScheduler(replica, [job.defined], stop.signal)
    for (let minute = 0; minute < 70; minute++) {
      await vi.waitFor(() => expect(replica.clock.sleepers()).toBe(1), { interval: 1, timeout: 15_000 })
      await replica.runs.settled() // its end is stored: a minute on, its lease would be over and it be taken for lost
      await replica.clock.advance(minuteMs)
    }
    await vi.waitFor(() => expect(job.ran).toBe(2), { timeout: 15_000 })
    stop.abort()
    await over
    expect(await history(replica.db)).toEqual(['succeeded 02:07 counted 1', 'succeeded 03:07 counted 2'])
  })

  test('by hand: run, told in the history, audited; refused while it runs', async () => {
    const job = aJob()
    const replica = aReplica(await fresh(), manualClock(), 'a', [job.defined])
    const api = await anApi(replica)
    expect(await api.triggerCron({ params: { jobKey: 'count-things' } })).toEqual({ success: true, message: 'counted 1' })
    job.failure = 'the shelf is empty'
    expect(await api.triggerCron({ params: { jobKey: 'count-things' } })).toEqual({ success: false, message: 'the shelf is empty' })
    const { runs } = await api.cronHistory({ params: { jobKey: 'count-things' } })
    expect(runs.map(({ status }) => status).sort()).toEqual(['failed', 'succeeded'])
    expect(Object.keys(runs[0] ?? {}).sort()).toEqual(['duration_ms', 'finished_at', 'job_key', 'message', 'started_at', 'status'])
    const audited = await replica.db.selectFrom('audit').select(['action', 'subject', 'actor']).execute()
    expect(audited[0]).toEqual({ action: 'cron.triggered', subject: 'count-things', actor: 'admin:anna' })

    let finish = (_: unknown) => {}
    job.failure = undefined
    job.wait = new Promise((resolve) => {
      finish = resolve
    })
    const long = api.triggerCron({ params: { jobKey: 'count-things' } })
    await vi.waitFor(() => expect(job.ran).toBe(3), { timeout: 15_000 })
    await expect(api.triggerCron({ params: { jobKey: 'count-things' } })).rejects.toSatisfy((error) => isProblem(error, 'CONFLICT'))
    await vi.waitFor(() => expect(replica.clock.sleepers()).toBe(2), { timeout: 15_000 })
    await replica.clock.advance(30_000)
    expect((await long).message).toContain('is running')
    finish(undefined)
    await replica.runs.settled()
  })

  test('the list tells each job, when it is next and how it went last', async () => {
    const job = aJob()
    const replica = aReplica(await fresh(), manualClock(), 'a', [job.defined])
    const api = await anApi(replica)
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

test('an expression that is none fails where the job is defined', () => {
  const job = { key: 'x', description: '', run: async () => '' }
  expect(() => defineCron({ ...job, expression: 'every day' })).toThrow()
  expect(() => defineCron({ ...job, expression: '61 * * * *' })).toThrow()
})
