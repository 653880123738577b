import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import { inChatQueue, shares } from '../../../src/core/outbox/index.ts'
import { type Db, enqueueOutbox, runOutbox } from '../../../src/daemon/db/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { askInTurn, emptyDatabase } from '../../support/databases.ts'

const tenants = Array.from({ length: 600 }, (_, n) => `ten_${n}`)
const isDown = (tenantId: string) => Number(tenantId.slice(4)) % 3 === 0 // 200 of 600, whose servers hang

/** One replica at work; time passes for it a second at a time, and each second it has come to rest. */
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
  const note = () =>
    db.transaction().execute(async (tx) => {
      for (const tenantId of tenants)
        await enqueueOutbox(tx, clock, { topic: 'chat', payload: { tenantId }, ...inChatQueue({ tenantId, what: 'locks', key: 'usr_1' }) })
      await enqueueOutbox(tx, clock, { topic: 'mail', payload: {}, lane: 'mail', queue: 'mail:ops' })
    })
  const ending = new AbortController()
  const ended = runOutbox({ db, clock, log: silentLogger(), handlers: { chat, mail } }, ending.signal)
  // All take turns at the one connection: while this asked thirty times, each of the others could ask thirty times too, however slow the machine.
  const rest = async () => {
    for (let [quiet, before] = [0, -1]; quiet < 30; quiet = done.length === before ? quiet + 1 : 0) {
      before = done.length
      await askInTurn(db)
    }
  }
  const seconds = async (count: number) => {
    for (let second = 0; second < count; second++) {
      await clock.advance(1000)
      await rest()
    }
  }
  const stop = async () => {
    ending.abort()
    for (let second = 0; second < 20; second++) await clock.advance(1000)
    await ended
  }
  return { done, note, seconds, stop, most: () => most }
}

test('mail waits behind no chat server, and nobody behind those that are known to be away', async () => {
  const { db } = await emptyDatabase('sqlite')
  const replica = await aReplica(db)
  await replica.note()
  await replica.seconds(3)
  expect(replica.done).toContain('mail')
  // The first time each server that hangs costs a worker 15 seconds: 200 of them at 48 workers, with all others in between.
  await replica.seconds(90)
  const healthy = tenants.filter((tenantId) => !isDown(tenantId))
  expect(replica.done.filter((one) => one !== 'mail').toSorted()).toEqual(healthy.toSorted())
  replica.done.length = 0
  await replica.note()
  await replica.seconds(3)
  expect(replica.done.filter((one) => one !== 'mail').toSorted()).toEqual(healthy.toSorted())
  expect(replica.done).toContain('mail')
  expect(replica.most()).toBeLessThanOrEqual(shares.chat + shares.away)
  await replica.stop()
}, 120_000)

test('looking for work reads what is due, not all that waits', async () => {
  const { db } = await emptyDatabase('sqlite')
  const plan = async (query: ReturnType<typeof sql>) =>
    (await sql<{ detail: string }>`explain query plan ${query}`.execute(db)).rows.map(({ detail }) => detail).join('\n')
  const due = sql`select queue from outbox_queues where lane = 'chat' and due_at <= '2026' order by due_at limit 48`
  expect(await plan(due)).toMatch(/USING (COVERING )?INDEX outbox_queues_due \(lane=\? AND due_at<\?\)/)
  const noted = sql`select id from outbox where status = 'pending' or (status = 'leased' and lease_until <= '2026') order by id limit 500`
  expect(await plan(noted)).not.toContain('SCAN outbox')
  const next = sql`select id from outbox where queue = 'q' and status = 'queued' and next_at <= '2026' order by attempts, next_at, id limit 1`
  expect(await plan(next)).toMatch(/outbox_turn \(queue=\? AND status=\?\)$/)
  const earlier = sql`select 1 from outbox where queue = 'q' and key = 'k' and status = 'queued' and id < 9`
  expect(await plan(earlier)).toContain('outbox_order (queue=? AND key=? AND id<?)')
})
