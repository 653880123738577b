import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { chatQueue } from '../../../src/core/jobs/index.ts'
import { isoIn, isProblem, manualClock, problem } from '../../../src/core/kit/index.ts'
import { type Db, enqueueJob } from '../../../src/daemon/db/index.ts'
import { drainJobs, jobsMetrics, jobsWatch } from '../../../src/daemon/work/index.ts'
import { getJob, listJobs, retryJobs } from '../../../src/daemon/work/testing.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { anna } from '../../support/alerts-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { roundsOf } from '../../support/loops.ts'

const clock = manualClock()
/** Nobody sends the messages of alerts here. */
const notifyTopic = 'alerts.tell'
const topics = async (db: Db) =>
  (await db.selectFrom('alerts').select(['kind', 'status']).execute()).map(({ kind, status }) => `${kind} ${status}`)

/** One job of each state: `chat.space` waits for a server, `audit.checkpoint` is dead, `mail` is new. */
async function aBacklog(db: Db) {
  const enqueue = (job: Parameters<typeof enqueueJob>[2]) => db.transaction().execute((tx) => enqueueJob(tx, clock, job))
  const handlers = {
    'chat.space': () => Promise.reject(problem('HOMESERVER_UNREACHABLE', 'the chat server does not answer')),
    'audit.checkpoint': () => Promise.reject(new Error('the disk is full')),
  }
  const place = chatQueue({ tenantId: 'ten_1', what: 'spaces', key: 'spc_1' })
  await enqueue({ topic: 'chat.space', payload: { spaceId: 'spc_1', password: 'hunter2' }, ...place })
  await enqueue({ topic: 'audit.checkpoint', payload: { chain: 'admin' } })
  for (let attempt = 0; attempt < 12; attempt++) {
    await drainJobs({ db, clock, log: silentLogger(), handlers })
    await clock.advance(3_600_000)
  }
  await enqueue({ topic: 'mail', payload: {} })
}

onBothDialects('operating jobs', (fresh) => {
  test('jobs are listed oldest first, with ids only of their payload', async () => {
    const db = await fresh()
    await aBacklog(db)
    const { jobs, counts, nextCursor } = await listJobs({ db }, { limit: 2 })
    expect(jobs).toMatchObject([
      { topic: 'chat.space', state: 'away', about: { spaceId: 'spc_1' }, attempts: 0, lastError: 'the chat server does not answer' },
      { topic: 'audit.checkpoint', state: 'dead', about: { chain: 'admin' }, attempts: 12, lastError: 'the disk is full', nextAt: null },
    ])
    expect(JSON.stringify(jobs)).not.toContain('hunter2')
    expect(counts.map(({ topic, state, count }) => [topic, state, count])).toEqual([
      ['audit.checkpoint', 'dead', 1],
      ['chat.space', 'away', 1],
      ['mail', 'waiting', 1],
    ])
    const rest = await listJobs({ db }, { limit: 2, cursor: nextCursor ?? '' })
    expect([rest.jobs.map(({ topic }) => topic), rest.nextCursor]).toEqual([['mail'], null])
    for (const state of ['waiting', 'away', 'dead'] as const)
      expect((await listJobs({ db }, { limit: 9, state })).jobs.map((one) => one.state)).toEqual([state])
    expect((await listJobs({ db }, { limit: 9, topic: 'mail' })).jobs).toHaveLength(1)
  })

  test('a retried job has all its attempts again; a finished job does not exist', async () => {
    const db = await fresh()
    await aBacklog(db)
    expect(await retryJobs({ db, clock }, anna, { topic: 'chat.space' })).toEqual({ retried: 0 })
    expect(await retryJobs({ db, clock }, anna, { topic: 'audit.checkpoint' })).toEqual({ retried: 1 })
    const [again] = (await listJobs({ db }, { limit: 9, topic: 'audit.checkpoint' })).jobs
    expect(await getJob({ db }, { id: again?.id ?? 0 })).toMatchObject({ state: 'waiting', attempts: 0 })
    const done = async () => undefined
    await drainJobs({ db, clock, log: silentLogger(), handlers: { 'audit.checkpoint': done, 'chat.space': done, mail: done } })
    const missing = await getJob({ db }, { id: again?.id ?? 0 }).catch((error) => error)
    expect(isProblem(missing, 'NOT_FOUND')).toBe(true)
    const { jobs, counts } = await listJobs({ db }, { limit: 9 })
    expect([jobs, counts]).toEqual([[], []])
  })

  test('jobs due for more than an hour raise an alert, by one replica; it closes when none is', async () => {
    const db = await fresh()
    await aBacklog(db)
    await db.deleteFrom('jobs').where('status', '=', 'dead').execute()
    await roundsOf({ db, clock, owner: 'replica_a' }, jobsWatch({ db, clock }))()
    await roundsOf({ db, clock, owner: 'replica_b' }, jobsWatch({ db, clock }))()
    await roundsOf({ db, clock, owner: 'replica_a' }, jobsWatch({ db, clock }))()
    expect(await topics(db)).toEqual(['jobs_stuck open'])
    expect((await db.selectFrom('alerts').select(['count', 'body']).executeTakeFirst())?.count).toBe(1)
    await db.deleteFrom('jobs').where('topic', '=', 'chat.space').execute()
    await roundsOf({ db, clock, owner: 'replica_a' }, jobsWatch({ db, clock }))()
    expect(await topics(db)).toEqual(['jobs_stuck closed'])
  })

  test('a topic that waits for long hides no other one: each raises an alert once, and closes its own', async () => {
    const db = await fresh()
    const enqueue = (topic: string) => db.transaction().execute((tx) => enqueueJob(tx, clock, { topic, payload: {} }))
    const watch = async () => {
      await roundsOf({ db, clock, owner: 'replica_a' }, jobsWatch({ db, clock }))()
      await db.deleteFrom('jobs').where('topic', '=', notifyTopic).execute()
    }
    const raised = async () =>
      (await db.selectFrom('alerts').select(['key', 'status', 'count']).orderBy('id').execute()).map(
        ({ key, status, count }) => `${key} ${status} ${count}`,
      )
    await enqueue('payments.cancellation')
    await clock.advance(3_600_000)
    await watch()
    await db.updateTable('alerts').set({ status: 'acknowledged' }).execute()
    await enqueue('chat.space')
    await clock.advance(3_600_000)
    await watch()
    await watch()
    expect(await raised()).toEqual(['jobs_stuck:payments.cancellation acknowledged 1', 'jobs_stuck:chat.space open 1'])
    await db.deleteFrom('jobs').where('topic', '=', 'chat.space').execute()
    await watch()
    expect(await raised()).toEqual(['jobs_stuck:payments.cancellation acknowledged 1', 'jobs_stuck:chat.space closed 1'])
    await enqueue('chat.space')
    await clock.advance(3_600_000)
    await watch()
    expect((await raised()).at(-1)).toBe('jobs_stuck:chat.space open 1')
  })

  test('a job that dies keeps an alert, which closes once it was retried and has run', async () => {
    const db = await fresh()
    const raised = async () => {
      await roundsOf({ db, clock, owner: 'replica_a' }, jobsWatch({ db, clock }))()
      await db.deleteFrom('jobs').where('topic', '=', notifyTopic).execute()
      const rows = await db.selectFrom('alerts').select(['key', 'status']).orderBy('id').execute()
      return rows.map(({ key, status }) => `${key} ${status}`)
    }
    await db.transaction().execute((tx) => enqueueJob(tx, clock, { topic: 'payments.cancellation', payload: {} }))
    await clock.advance(3_600_000)
    expect(await raised()).toEqual(['jobs_stuck:payments.cancellation open'])
    await db.updateTable('jobs').set({ status: 'dead' }).execute()
    const both = ['jobs_stuck:payments.cancellation closed', 'jobs_stuck:payments.cancellation:dead open']
    expect(await raised()).toEqual(both)
    expect(await raised()).toEqual(both)
    await retryJobs({ db, clock }, anna, { topic: 'payments.cancellation' })
    await drainJobs({ db, clock, log: silentLogger(), handlers: { 'payments.cancellation': async () => undefined } })
    expect(await raised()).toEqual(both.map((one) => one.replace('open', 'closed')))
  })

  test('a job with a run time is late an hour after that time, not after it was enqueued', async () => {
    const db = await fresh()
    const runAt = isoIn(clock, 86_400_000)
    await db.transaction().execute((tx) => enqueueJob(tx, clock, { topic: 'mail', payload: {}, runAt }))
    await clock.advance(86_400_000)
    await roundsOf({ db, clock, owner: 'replica_a' }, jobsWatch({ db, clock }))()
    expect(await topics(db)).toEqual([])
    await clock.advance(3_600_000)
    await roundsOf({ db, clock, owner: 'replica_a' }, jobsWatch({ db, clock }))()
    expect(await topics(db)).toEqual(['jobs_stuck open'])
  })

  test('metrics count jobs by topic and status, with the age of the oldest', async () => {
    const [db, registry] = [await fresh(), new Registry()]
    jobsMetrics({ db, clock, registry })
    await aBacklog(db)
    await clock.advance(30_000)
    const shown = await registry.metrics()
    expect(shown).toContain('tenantry_jobs{topic="audit.checkpoint",status="dead"} 1')
    expect(shown).toContain('tenantry_jobs{topic="chat.space",status="away"} 1')
    expect(shown).toContain('tenantry_jobs_oldest_seconds{topic="mail",status="waiting"} 30')
    expect(shown).toContain(`tenantry_jobs_oldest_seconds{topic="chat.space",status="away"} ${12 * 3600 + 30}`)
  })
})
