import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { chatQueue, workersPerPool } from '../../../src/core/jobs/index.ts'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import { type Db, enqueueJob } from '../../../src/daemon/db/index.ts'
import { jobsLoop, runLoop } from '../../../src/daemon/work/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { askInTurn, emptyDatabase } from '../../support/databases.ts'

const tenants = Array.from({ length: 600 }, (_, n) => `ten_${n}`)
const isDown = (tenantId: string) => Number(tenantId.slice(4)) % 3 === 0 // the servers of 200 of 600 hang

/** A running replica; its clock advances by a second at a time, once the replica is idle. */
async function aReplica(db: Db) {
  const clock = manualClock()
  const [done, working]: [string[], Set<string>] = [[], new Set()]
  let most = 0
  const chat = async (payload: unknown) => {
    const { tenantId } = payload as { tenantId: string }
    working.add(tenantId)
    most = Math.max(most, working.size)
    if (isDown(tenantId)) await clock.sleep(15_000)
    working.delete(tenantId)
    if (isDown(tenantId)) throw problem('HOMESERVER_UNREACHABLE', 'no answer in 15 s')
    done.push(tenantId)
  }
  const mail = async () => void done.push('mail')
  const enqueue = () =>
    db.transaction().execute(async (tx) => {
      for (const tenantId of tenants)
        await enqueueJob(tx, clock, { topic: 'chat', payload: { tenantId }, ...chatQueue({ tenantId, what: 'locks', key: 'usr_1' }) })
      await enqueueJob(tx, clock, { topic: 'mail', payload: {}, pool: 'mail', queue: 'mail:ops' })
    })
  const ending = new AbortController()
  const deps = { db, clock, log: silentLogger(), handlers: { chat, mail } }
  const ended = runLoop({ ...deps, owner: 'replica' }, jobsLoop(deps), ending.signal)
  // The one connection serves in order: while this queries thirty times, every other task can query thirty times too, on any machine.
  const untilIdle = async () => {
    for (let [quiet, before] = [0, -1]; quiet < 30; quiet = done.length === before ? quiet + 1 : 0) {
      before = done.length
      await askInTurn(db)
    }
  }
  const seconds = async (count: number) => {
    for (let second = 0; second < count; second++) {
      await clock.advance(1000)
      await untilIdle()
    }
  }
  const stop = async () => {
    ending.abort()
    for (let second = 0; second < 20; second++) await clock.advance(1000)
    await ended
  }
  return { done, enqueue, seconds, stop, most: () => most }
}

test('mail never waits for a chat server, and no job waits for servers known to be unreachable', async () => {
  const { db } = await emptyDatabase('sqlite')
  const replica = await aReplica(db)
  await replica.enqueue()
  await replica.seconds(3)
  expect(replica.done).toContain('mail')
  // At first each hanging server occupies a worker for 15 seconds: 200 of them on 48 workers, with all other jobs in between.
  await replica.seconds(90)
  const healthy = tenants.filter((tenantId) => !isDown(tenantId))
  expect(replica.done.filter((one) => one !== 'mail').toSorted()).toEqual(healthy.toSorted())
  replica.done.length = 0
  await replica.enqueue()
  await replica.seconds(3)
  expect(replica.done.filter((one) => one !== 'mail').toSorted()).toEqual(healthy.toSorted())
  expect(replica.done).toContain('mail')
  expect(replica.most()).toBeLessThanOrEqual(workersPerPool.chat + workersPerPool.away)
  await replica.stop()
})

test('polling for jobs reads due rows, not all jobs', async () => {
  const { db } = await emptyDatabase('sqlite')
  const plan = async (query: ReturnType<typeof sql>) =>
    (await sql<{ detail: string }>`explain query plan ${query}`.execute(db)).rows.map(({ detail }) => detail).join('\n')
  const due = sql`select queue from job_queues where pool = 'chat' and due_at <= '2026' order by due_at limit 48`
  expect(await plan(due)).toMatch(/USING (COVERING )?INDEX job_queues_due \(pool=\? AND due_at<\?\)/)
  const unassigned = sql`select id from jobs where status = 'pending' order by id limit 500`
  expect(await plan(unassigned)).not.toContain('SCAN jobs')
  const next = sql`select id from jobs where queue = 'q' and status = 'queued' and next_at <= '2026' order by attempts, next_at, id limit 1`
  expect(await plan(next)).toMatch(/jobs_next \(queue=\? AND status=\?\)$/)
  const earlier = sql`select 1 from jobs where queue = 'q' and key = 'k' and status = 'queued' and id < 9`
  expect(await plan(earlier)).toContain('jobs_of_key (queue=? AND key=? AND id<?)')
})
