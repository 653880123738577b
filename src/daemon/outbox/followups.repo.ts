import { sql } from 'kysely'
import { aboutOf, type Followup, type FollowupCount, type FollowupState } from '../../core/outbox/index.ts'
import type { DbOrTx } from '../db/index.ts'

/** Work whose queue waits for a server is away; what is not in a queue yet is about to be. */
const state = sql<FollowupState>`case when status = 'dead' then 'dead' when failures > 0 then 'away' else 'waiting' end`

const all = (db: DbOrTx) => db.selectFrom('outbox').leftJoin('outbox_queues', 'outbox_queues.queue', 'outbox.queue')

/** How much there is of each kind; an empty outbox costs nothing. */
export async function countFollowups(db: DbOrTx): Promise<FollowupCount[]> {
  const rows = await all(db)
    .select(({ fn }) => ['topic', state.as('state'), fn.countAll().as('count'), fn.min('created_at').as('oldestAt')])
    .groupBy(['topic', state])
    .orderBy('topic')
    .execute()
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}

type Page = Readonly<{ state?: FollowupState | undefined; topic?: string | undefined; after: number; limit: number }>

const shown = (db: DbOrTx) =>
  all(db).select([
    ...(['outbox.id', 'topic', 'payload', 'outbox.queue', 'attempts', 'next_at', 'due_at', 'last_error', 'created_at'] as const),
    state.as('state'),
  ])

type Row = Awaited<ReturnType<ReturnType<typeof shown>['execute']>>[number]

/** The oldest first: what waits longest is what an operator looks for. */
export async function followupsAfter(db: DbOrTx, { state: wanted, topic, after, limit }: Page): Promise<Followup[]> {
  let query = shown(db).where('outbox.id', '>', after)
  if (topic !== undefined) query = query.where('topic', '=', topic)
  if (wanted === 'dead') query = query.where('status', '=', 'dead')
  else if (wanted !== undefined) query = query.where('status', '!=', 'dead').where(state, '=', wanted)
  return described(db, await query.orderBy('outbox.id').limit(limit).execute())
}

export async function findFollowup(db: DbOrTx, id: number): Promise<Followup | undefined> {
  return (await described(db, await shown(db).where('outbox.id', '=', id).execute()))[0]
}

async function described(db: DbOrTx, rows: readonly Row[]): Promise<Followup[]> {
  const tenants = new Map(rows.map((row) => [row.id, tenantIn(row)]))
  const ids = [...new Set(tenants.values())].filter((id) => id !== undefined)
  const named = ids.length === 0 ? [] : await db.selectFrom('tenants').select(['id', 'slug']).where('id', 'in', ids).execute()
  const slugs = new Map(named.map(({ id, slug }) => [id, slug]))
  return rows.map((row) => ({
    id: row.id,
    topic: row.topic,
    state: row.state,
    tenant: slugs.get(tenants.get(row.id) ?? '') ?? null,
    about: aboutOf(row.payload),
    queue: row.queue ?? row.topic,
    attempts: row.attempts,
    lastError: row.last_error,
    createdAt: row.created_at,
    nextAt: nextAt(row),
  }))
}

const tenantIn = ({ queue, payload }: Row): string | undefined => /^chat:([^:]+):/.exec(queue ?? '')?.[1] ?? aboutOf(payload).tenantId

const nextAt = ({ state: is, next_at, due_at }: Row): string | null =>
  is === 'dead' ? null : is === 'away' && due_at !== null && due_at > next_at ? due_at : next_at
