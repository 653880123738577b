import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { isProblem, manualClock, problem } from '../../../src/core/kit/index.ts'
import { inChatQueue } from '../../../src/core/outbox/index.ts'
import { type Db, drainOutbox, enqueueOutbox } from '../../../src/daemon/db/index.ts'
import { outboxMetrics, watchOutbox } from '../../../src/daemon/outbox/index.ts'
import { listFollowups, showFollowup } from '../../../src/daemon/outbox/list-followups.ts'
import { retryFollowups } from '../../../src/daemon/outbox/retry-followups.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { anna } from '../../support/alerts-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const clock = manualClock()
const topics = async (db: Db) =>
  (await db.selectFrom('alerts').select(['kind', 'status']).execute()).map(({ kind, status }) => `${kind} ${status}`)

/** One of each state: `chat.space` waits for a server, `audit.checkpoint` was given up, `mail` is new. */
async function aBacklog(db: Db) {
  const note = (given: Parameters<typeof enqueueOutbox>[2]) => db.transaction().execute((tx) => enqueueOutbox(tx, clock, given))
  const handlers = {
    'chat.space': () => Promise.reject(problem('HOMESERVER_UNREACHABLE', 'the chat server does not answer')),
    'audit.checkpoint': () => Promise.reject(new Error('the disk is full')),
  }
  const place = inChatQueue({ tenantId: 'ten_1', what: 'spaces', key: 'spc_1' })
  await note({ topic: 'chat.space', payload: { spaceId: 'spc_1', password: 'hunter2' }, ...place })
  await note({ topic: 'audit.checkpoint', payload: { chain: 'admin' } })
  for (let tried = 0; tried < 12; tried++) {
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    await clock.advance(3_600_000)
  }
  await note({ topic: 'mail', payload: {} })
}

onBothDialects('follow-up work', (fresh) => {
  test('is listed with what it waits for, oldest first, without what else it carries', async () => {
    const db = await fresh()
    await aBacklog(db)
    const { followups, counts, nextCursor } = await listFollowups({ db }, { limit: 2 })
    expect(followups).toMatchObject([
      { topic: 'chat.space', state: 'away', about: { spaceId: 'spc_1' }, attempts: 0, lastError: 'the chat server does not answer' },
      { topic: 'audit.checkpoint', state: 'dead', about: { chain: 'admin' }, attempts: 12, lastError: 'the disk is full', nextAt: null },
    ])
    expect(JSON.stringify(followups)).not.toContain('hunter2')
    expect(counts.map(({ topic, state, count }) => [topic, state, count])).toEqual([
      ['audit.checkpoint', 'dead', 1],
      ['chat.space', 'away', 1],
      ['mail', 'waiting', 1],
    ])
    const rest = await listFollowups({ db }, { limit: 2, cursor: nextCursor ?? '' })
    expect([rest.followups.map(({ topic }) => topic), rest.nextCursor]).toEqual([['mail'], null])
    for (const state of ['waiting', 'away', 'dead'] as const)
      expect((await listFollowups({ db }, { limit: 9, state })).followups.map((one) => one.state)).toEqual([state])
    expect((await listFollowups({ db }, { limit: 9, topic: 'mail' })).followups).toHaveLength(1)
  })

  test('that was given up has all its tries again, one kind alone too; one that is done is not there', async () => {
    const db = await fresh()
    await aBacklog(db)
    expect(await retryFollowups({ db, clock }, anna, { topic: 'chat.space' })).toEqual({ retried: 0 })
    expect(await retryFollowups({ db, clock }, anna, { topic: 'audit.checkpoint' })).toEqual({ retried: 1 })
    const [again] = (await listFollowups({ db }, { limit: 9, topic: 'audit.checkpoint' })).followups
    expect(await showFollowup({ db }, { id: again?.id ?? 0 })).toMatchObject({ state: 'waiting', attempts: 0 })
    const done = async () => undefined
    await drainOutbox({ db, clock, log: silentLogger(), handlers: { 'audit.checkpoint': done, 'chat.space': done, mail: done } })
    const missing = await showFollowup({ db }, { id: again?.id ?? 0 }).catch((error) => error)
    expect(isProblem(missing, 'NOT_FOUND')).toBe(true)
    const { followups, counts } = await listFollowups({ db }, { limit: 9 })
    expect([followups, counts]).toEqual([[], []])
  })

  test('that waits for more than an hour is told once, by one replica, and is over when none does', async () => {
    const db = await fresh()
    await aBacklog(db)
    await watchOutbox({ db, clock, holder: 'replica_a' })
    await watchOutbox({ db, clock, holder: 'replica_b' })
    await watchOutbox({ db, clock, holder: 'replica_a' })
    expect(await topics(db)).toEqual(['followups_late open'])
    expect((await db.selectFrom('alerts').select(['count', 'body']).executeTakeFirst())?.count).toBe(1)
    await db.deleteFrom('outbox').where('topic', '=', 'chat.space').execute()
    await watchOutbox({ db, clock, holder: 'replica_a' })
    expect(await topics(db)).toEqual(['followups_late closed'])
  })

  test('is counted for monitoring by kind and state, with how long the oldest has waited', async () => {
    const [db, registry] = [await fresh(), new Registry()]
    outboxMetrics({ db, clock, registry })
    await aBacklog(db)
    await clock.advance(30_000)
    const shown = await registry.metrics()
    expect(shown).toContain('tenantry_outbox{topic="audit.checkpoint",status="dead"} 1')
    expect(shown).toContain('tenantry_outbox{topic="chat.space",status="away"} 1')
    expect(shown).toContain('tenantry_outbox_oldest_seconds{topic="mail",status="waiting"} 30')
    expect(shown).toContain(`tenantry_outbox_oldest_seconds{topic="chat.space",status="away"} ${12 * 3600 + 30}`)
  })
})
