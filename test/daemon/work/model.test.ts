import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Clock, manualClock, problem } from '../../../src/core/kit/index.ts'
import { type Db, enqueueJob } from '../../../src/daemon/db/index.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { askInTurn, onBothDialects } from '../../support/databases.ts'
import { stopped } from '../../support/stopped-clock.ts'

type Work = Readonly<{ n: number; queue: string; key: string }>
type Begun = Work & { replica: Replica; atMs: number; end(error?: Error): void }
type Replica = { alive: boolean; idle: boolean }

const leaseMs = 60_000
const away = () => problem('HOMESERVER_UNREACHABLE', 'no answer')
const enqueue = (db: Db, clock: Clock, work: Work, pool: 'own' | 'mail' | 'chat' = 'chat') =>
  db.transaction().execute((tx) => enqueueJob(tx, clock, { topic: 'work', payload: work, pool, queue: work.queue, key: work.key }))

/** Replicas on one database; the model decides when their handlers end. */
function world(db: Db) {
  const clock = manualClock()
  const begun = new Set<Begun>()
  const [all, done]: [Work[], Set<number>] = [[], new Set()]
  /** Violations; a handler cannot throw them, because a throw means retry. */
  const wrong: string[] = []

  function begin(replica: Replica, work: Work): Promise<void> {
    for (const other of begun) {
      if (other.queue !== work.queue) continue
      if (other.replica.alive) wrong.push(`two live replicas at ${work.queue}`)
      if (clock.now().getTime() < other.atMs + leaseMs) wrong.push(`${work.queue} was taken over before its lease ended`)
      begun.delete(other)
    }
    const waits = all.filter(({ key, queue, n }) => key === work.key && queue === work.queue && n < work.n && !done.has(n))
    if (waits.length > 0) wrong.push(`${work.n} began before ${waits.map(({ n }) => n)}`)
    return new Promise((resolve, reject) => {
      const one: Begun = {
        ...work,
        replica,
        atMs: clock.now().getTime(),
        end: (error) => {
          begun.delete(one)
          if (!error) done.add(work.n)
          if (error) reject(error)
          else resolve()
        },
      }
      begun.add(one)
    })
  }
  const drain = (replica: Replica) => {
    replica.idle = false
    const handlers = { work: (payload: unknown) => begin(replica, payload as Work) }
    // A killed replica's timers never fire and its handlers never end.
    const ofReplica: Clock = { ...clock, sleep: (ms, signal) => (replica.alive ? clock : stopped(clock)).sleep(ms, signal) }
    const run = drainJobs({ db, clock: ofReplica, log: silentLogger(), handlers })
    void run.finally(() => {
      replica.idle = true
    })
  }
  return { clock, begun, all, done, drain, wrong }
}

const untilIdle = async (db: Db) => {
  for (let round = 0; round < 40; round++) await askInTurn(db)
}

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('enqueue' as const), queue: fc.nat(2), key: fc.nat(1) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('drain' as const), replica: fc.nat(2) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(3), how: fc.constantFrom('ok', 'fails', 'away') }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), replica: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1000, 5000, 20_000) }) },
  ),
  { minLength: 5, maxLength: 30 },
)
type Step = ReturnType<(typeof steps)['generate']>['value'][number]

onBothDialects('jobs of many replicas', (fresh, dialect) => {
  // SQLite answers within the process, so the model knows when every replica is idle.
  if (dialect === 'sqlite')
    test('run in the order of their key, one at a time per leased queue, and none is lost', async () => {
      const db = await fresh()
      await fc.assert(
        fc.asyncProperty(steps, async (given) => {
          for (const table of ['jobs', 'job_queues'] as const) await db.deleteFrom(table).execute()
          await play(db, given)
        }),
        { numRuns: 25 },
      )
    })

  test('run once each on three replicas, in the order of their key, while some fail', async () => {
    const [db, clock] = [await fresh(), manualClock()]
    const all = Array.from({ length: 60 }, (_, n): Work => ({ n, queue: `q${n % 12}`, key: `k${n % 3}` }))
    for (const work of all) await enqueue(db, clock, work, (['own', 'mail', 'chat'] as const)[(work.n % 12) % 3])
    const [ended, twice, working, tries]: [number[], number[], Set<string>, Map<number, number>] = [[], [], new Set(), new Map()]
    const handler = async (payload: unknown) => {
      const { n, queue } = payload as Work
      if (working.has(queue)) twice.push(n)
      working.add(queue)
      await yieldToEventLoop()
      working.delete(queue)
      tries.set(n, (tries.get(n) ?? 0) + 1)
      if (n % 7 === 0 && tries.get(n) === 1) throw n % 2 === 0 ? away() : new Error('no')
      ended.push(n)
    }
    for (let round = 0; ended.length < all.length && round < 60; round++) {
      await Promise.all([1, 2, 3].map(() => drainJobs({ db, clock, log: silentLogger(), handlers: { work: handler } })))
      await clock.advance(10_000)
    }
    expect(twice).toEqual([])
    expect(ended.toSorted((a, b) => a - b)).toEqual(all.map(({ n }) => n))
    for (const { queue, key } of all) {
      const of = ended.filter((n) => all[n]?.queue === queue && all[n]?.key === key)
      expect(of).toEqual(of.toSorted((a, b) => a - b))
    }
    expect(await db.selectFrom('job_queues').selectAll().execute()).toEqual([])
  })
})

async function play(db: Db, given: readonly Step[]): Promise<void> {
  const { clock, begun, all, done, drain, wrong } = world(db)
  const replicas = [0, 1, 2].map((): Replica => ({ alive: true, idle: true }))
  const live = () => [...begun].filter(({ replica }) => replica.alive)
  for (const step of given) {
    if (step.do === 'enqueue') {
      const work = { n: all.length, queue: `q${step.queue}`, key: `k${step.key}` }
      all.push(work)
      await enqueue(db, clock, work)
    }
    const replica = 'replica' in step ? replicas[step.replica] : undefined
    if (step.do === 'drain' && replica?.idle) drain(replica)
    if (step.do === 'kill' && replica) replicas[step.replica] = killed(replica)
    if (step.do === 'end') live()[step.which]?.end(step.how === 'ok' ? undefined : step.how === 'away' ? away() : new Error('no'))
    if (step.do === 'wait') await clock.advance(step.ms)
    await untilIdle(db)
    for (const one of live()) one.atMs = Math.max(one.atMs, clock.now().getTime() - 20_000) // renewed at least that recently
  }
  // The remaining replicas finish all jobs.
  for (let round = 0; round < 400 && done.size < all.length; round++) {
    for (const one of replicas) if (one.alive && one.idle) drain(one)
    await untilIdle(db)
    for (const one of live()) one.end()
    await untilIdle(db)
    if (live().length === 0) await clock.advance(30_000)
  }
  expect(wrong).toEqual([])
  expect([...done].toSorted((a, b) => a - b)).toEqual(all.map(({ n }) => n))
  expect(await db.selectFrom('jobs').selectAll().execute()).toEqual([])
}

/** Replaces the killed replica by a new one. */
function killed(replica: Replica): Replica {
  replica.alive = false
  return { alive: true, idle: true }
}
