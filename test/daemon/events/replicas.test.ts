import fc from 'fast-check'
import { sql } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import type { Audience } from '../../../src/core/events/index.ts'
import { type Db, listenForCommits, openDatabase, type Tx } from '../../../src/daemon/db/index.ts'
import { eventLoops } from '../../../src/daemon/events/index.ts'
import { runLoops } from '../../../src/daemon/work/index.ts'
import { silentLogger, systemClock } from '../../../src/node/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aReplica, aToken, type HearingClient, happen, happened, type Replica, until } from '../../support/event-world.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Replicas of one daemon as in production: each with its own database pool. */
async function replicas(dialect: 'sqlite' | 'postgres', count: number): Promise<Replica[]> {
  const { db, url } = await emptyDatabase(dialect)
  const stopping = new AbortController()
  const all = Array.from({ length: count }, (_, n) => aReplica(n === 0 ? db : openDatabase(url).db, systemClock))
  const loops = all.flatMap((one, n) => runLoops({ ...one, log: silentLogger(), owner: `replica_${n}` }, eventLoops(one), stopping.signal))
  closing.push(async () => {
    stopping.abort()
    await Promise.all(loops)
    await Promise.all(all.map((one) => one.db.destroy()))
  })
  return all
}

/** A transaction that stays open until it is released. */
function heldOpen(db: Db, work: (tx: Tx) => Promise<unknown>) {
  const held: { commit: () => void; rollBack: () => void } = { commit: () => undefined, rollBack: () => undefined }
  let begun: () => void = () => undefined
  const done = new Promise<void>((resolve) => {
    begun = resolve
  })
  const over = db.transaction().execute(async (tx) => {
    await work(tx)
    const end = new Promise<void>((commit, rollBack) => {
      held.commit = commit
      held.rollBack = () => rollBack(new Error('changed my mind'))
    })
    begun()
    await end
  })
  return { held, done, over: over.catch(() => undefined) }
}

const soon = () => new Promise((next) => setTimeout(next, 100))

describe('open transactions', () => {
  test('a later commit is published later, and none is lost, whichever replica stored it', async () => {
    const [one, two] = (await replicas('postgres', 2)) as [Replica, Replica]
    const clients = [await one.connect(), await two.connect(aToken({ userId: 'u2' }))]
    const first = heldOpen(one.db, (tx) => happen(tx, systemClock, { payload: { spaceId: 'first' } }))
    await first.done
    const second = happened(two, { payload: { spaceId: 'second' } }) // waits for the first: its number is the next
    const elsewhere = await two.connect(aToken({ tenantId: 't2', userId: 'u3' }))
    await happened(one, { tenantId: 't2' })
    await until('another tenant heard of its own', () => elsewhere.seqs.length === 1)
    await soon()
    expect(clients.map(({ seqs }) => seqs)).toEqual([[], []])
    first.held.commit()
    await Promise.all([first.over, second])
    await until('both clients heard of both', () => clients.every(({ seqs }) => seqs.length === 2))
    for (const client of clients)
      expect(client.told.map(({ id, data }) => [id, data?.ids])).toEqual([
        [1, { spaceId: 'first' }],
        [2, { spaceId: 'second' }],
      ])
  })

  test('a client that connects during an open transaction misses no event', async () => {
    const [one, two] = (await replicas('postgres', 2)) as [Replica, Replica]
    await happened(one)
    const open = heldOpen(one.db, (tx) => happen(tx, systemClock))
    await open.done
    const client = await two.connect(aToken(), '1')
    await soon()
    open.held.commit()
    await open.over
    await happened(two)
    await until('it heard of both', () => client.seqs.length === 2)
    expect(client.seqs).toEqual([2, 3])
  })

  test('a rolled back event is never published, and its number is reused', async () => {
    const [one, two] = (await replicas('postgres', 2)) as [Replica, Replica]
    const client = await two.connect()
    const open = heldOpen(one.db, (tx) => happen(tx, systemClock, { payload: { spaceId: 'never' } }))
    await open.done
    open.held.rollBack()
    await open.over
    await happened(two, { payload: { spaceId: 'real' } })
    await until('it heard', () => client.seqs.length === 1)
    expect(client.told.map(({ id, data }) => [id, data?.ids])).toEqual([[1, { spaceId: 'real' }]])
  })
})

describe.each(['sqlite', 'postgres'] as const)('notification of commits (%s)', (dialect) => {
  test('a commit is published at once, a rollback never', async () => {
    const [one] = (await replicas(dialect, 1)) as [Replica]
    const heard: string[] = []
    const hearing = await listenForCommits(one.db, (word) => void heard.push(word))
    const done = heldOpen(one.db, (tx) => happen(tx, systemClock, { tenantId: 't1' }))
    await done.done
    done.held.rollBack()
    await done.over
    await happened(one, { tenantId: 't2' })
    await until('it was heard', () => heard.length === 1)
    await hearing.close()
    await hearing.ended
    await happened(one, { tenantId: 't3' })
    expect(heard).toEqual(['tenant:t2'])
  })
})

test('a replica without its notification connection still publishes', async () => {
  const [one, two] = (await replicas('postgres', 2)) as [Replica, Replica]
  const client = await two.connect()
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen %' and datname = current_database()`.execute(
    one.db,
  )
  await happened(one)
  await until('it was looked for', () => client.seqs.length === 1)
})

// --- any interleaving

type Step =
  | Readonly<{ kind: 'event'; replica: number; audience: number; rollBack: boolean; tenant: number }>
  | Readonly<{ kind: 'join'; replica: number; user: number; back: number }>
  | Readonly<{ kind: 'leave'; client: number }>
  | Readonly<{ kind: 'doubt'; replica: number }>
  | Readonly<{ kind: 'look'; replica: number }>

const audiences: readonly Audience[] = ['tenant', { users: ['u0'] }, { users: ['u1'] }, { capability: 'manageBoards' }]

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('event' as const),
      replica: fc.nat(1),
      audience: fc.nat(3),
      rollBack: fc.boolean(),
      tenant: fc.nat(1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('join' as const), replica: fc.nat(1), user: fc.nat(1), back: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), client: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('doubt' as const), replica: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('look' as const), replica: fc.nat(1) }) },
)

const concerns = (audience: Audience, user: number) => audience === 'tenant' || audience.users?.includes(`u${user}`) === true

/** Steps start without waiting for earlier ones: commits, joins and doubts interleave in any order. */
async function play(all: readonly Replica[], tenants: readonly string[], steps: readonly Step[]) {
  const clients: { client: HearingClient; user: number; after: number }[] = []
  const under: Promise<unknown>[] = []
  const replica = (n: number) => all[n % all.length] as Replica
  let committed = 0
  for (const one of steps) {
    if (one.kind === 'event') {
      const { db } = replica(one.replica)
      const work = db.transaction().execute(async (tx) => {
        await happen(tx, systemClock, { tenantId: tenants[one.tenant] as string, audience: audiences[one.audience] as Audience })
        if (one.rollBack) throw new Error('changed my mind')
      })
      under.push(
        work.then(
          () => one.tenant === 0 && committed++,
          () => undefined,
        ),
      )
    } else if (one.kind === 'join') {
      const after = Math.max(0, committed - one.back)
      const token = aToken({ tenantId: tenants[0] as string, userId: `u${one.user}` })
      const join = replica(one.replica).connect(token, String(after))
      under.push(
        join.then(
          (client) => clients.push({ client, user: one.user, after }),
          () => undefined,
        ),
      ) // ten are enough
    } else if (one.kind === 'leave') clients[one.client]?.client.end()
    else if (one.kind === 'doubt') replica(one.replica).revocations.tell('everything')
    else under.push(replica(one.replica).bus.poll())
    if (under.length % 3 === 0) await new Promise((next) => setImmediate(next))
  }
  await Promise.all(under)
  return clients
}

describe.each(['sqlite', 'postgres'] as const)('any interleaving (%s)', (dialect) => {
  test('each client gets each of its events once and in order, whichever replica stored it', {
    timeout: 120_000,
  }, async () => {
    const all = await replicas(dialect, dialect === 'postgres' ? 2 : 1)
    const [{ db }] = all as [Replica]
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        run += 1
        const tenants = [`a${run}`, `b${run}`]
        const clients = await play(all, tenants, steps)
        const stored = await db.selectFrom('events').selectAll().where('stream', '=', `tenant:${tenants[0]}`).orderBy('seq').execute()
        for (const { client, user, after } of clients) {
          const own = stored.filter(({ seq, audience }) => Number(seq) > after && concerns(JSON.parse(audience as string), user))
          const seqs = own.map(({ seq }) => Number(seq))
          if (!client.closed) await until(`all was told: ${seqs} and not ${client.seqs}`, () => client.seqs.length >= seqs.length, 5000)
          expect(client.seqs).toEqual(client.closed ? seqs.slice(0, client.seqs.length) : seqs)
          client.end()
        }
        for (const one of all) expect([one.bus.topics(), one.streams.count()]).toEqual([0, 0])
      }),
      { numRuns: 25 },
    )
  })
})
