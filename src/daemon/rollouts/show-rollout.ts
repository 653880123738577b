import { sql } from 'kysely'
import { pageOf } from '../../core/contract/index.ts'
import { type Actor, actorLabel, problem } from '../../core/kit/index.ts'
import {
  type ActionCounts,
  type AuditLine,
  isOver,
  phaseOf,
  type Rollout,
  type RolloutAction,
  type RolloutAttempt,
  type RolloutDetail,
  type RolloutKind,
  type RolloutPlan,
  type RolloutStatus,
  type RolloutSummary,
} from '../../core/rollouts/index.ts'
import { entriesAfter, headOf } from '../audit/index.ts'
import { existingBox } from '../boxes/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { actionBySlug, actionsOf, countActions, publicAction } from './actions.repo.ts'
import { attemptsOf, lastFailedAttempt } from './attempts.repo.ts'
import { manifestStillAsking } from './manifest-still-asking.ts'
import { activeRollouts, unfinishedAmong } from './open-rollouts.repo.ts'
import { streamOf } from './publish.ts'
import { planOf, rolloutById, rolloutsPage, type StoredRollout } from './rollouts.repo.ts'

type Deps = Readonly<{ db: Db }>

/** An answer carries the newest entries of the chain; `tenantry audit list` has all. */
const maxAuditLines = 1000

/** Maintenance windows and rollouts that the rollout waits for now. */
type Waits = Pick<RolloutSummary, 'waitingUntil' | 'queuedBehind'>

export function summaryOf(stored: StoredRollout, counts: ActionCounts, waits: Waits): RolloutSummary {
  const { manifest, digests, skipRefused, gates, ...summary } = stored
  return { ...summary, ...waits, counts }
}

/** The whole record with counts and audit log. */
export async function describeRollout(db: DbOrTx, stored: StoredRollout): Promise<Rollout> {
  const counts = await countActions(db, [stored.id])
  const waits = await waitsOf(db, [stored], counts)
  const { manifest, digests, skipRefused, gates } = stored
  return {
    ...summaryOf(stored, counts(stored.id), waits(stored.id)),
    targets: manifest.tiers,
    digests,
    skipRefused,
    gates,
    stillAsked: await manifestStillAsking(db, stored.id),
    auditLog: await auditLogOf(db, stored.id),
  }
}

async function auditLogOf(db: DbOrTx, rolloutId: string): Promise<AuditLine[]> {
  const chain = streamOf(rolloutId)
  const { seq } = await headOf(db, chain)
  const entries = await entriesAfter(db, chain, { after: seq - maxAuditLines, limit: maxAuditLines })
  return entries.map(({ seq, at, actor, action, subject, data, hash }) => {
    return { seq, at, actor, action, subject, data: data as AuditLine['data'], hash }
  })
}

/** With plan and all actions. Throws NOT_FOUND. */
export async function showRollout({ db }: Deps, id: string): Promise<RolloutDetail> {
  // Read first: the stream repeats events that happen while the rest is read, and skips none.
  const lastEventId = await lastEventOf(db, id)
  const stored = await rolloutById(db, id)
  const actions = (await actionsOf(db, id)).map(publicAction)
  return { ...(await describeRollout(db, stored)), plan: await currentPlan(db, stored), actions, lastEventId }
}

/** The stored plan. The active rollouts of its creation say nothing later: a queued rollout gets those of now, any other none. */
async function currentPlan(db: DbOrTx, { id, kind, status }: StoredRollout): Promise<RolloutPlan> {
  const { activeRollouts: _, ...plan } = await planOf(db, id)
  if (kind !== 'staged' || status !== 'queued') return plan
  const moving = plan.boxes.filter(({ does }) => does === 'update').map(({ tenantSlug }) => tenantSlug)
  return { ...plan, activeRollouts: await activeRollouts(db, moving, id) }
}

async function lastEventOf(db: DbOrTx, id: string): Promise<string> {
  const row = await db.selectFrom('streams').select('seq').where('stream', '=', streamOf(id)).executeTakeFirst()
  return String(row?.seq ?? 0)
}

/** One tenant's action with the evidence of all its attempts. Lines of logs are for operators, as everywhere. Throws NOT_FOUND. */
export async function showAction(
  { db }: Deps,
  { id, slug, mayReadLogs = false }: Readonly<{ id: string; slug: string; mayReadLogs?: boolean }>,
): Promise<{ action: RolloutAction; attempts: RolloutAttempt[] }> {
  await rolloutById(db, id)
  const action = await actionBySlug(db, id, slug)
  const attempts = await attemptsOf(db, action.id)
  return { action: publicAction(action), attempts: mayReadLogs ? attempts : attempts.map((attempt) => ({ ...attempt, logs: null })) }
}

type LastFailure = Readonly<{ rolloutId: string; attempt: number; at: string }>

/** The last attempt on a box that kept log lines of its failure. Throws NOT_FOUND. */
export async function showLastFailure({ db }: Deps, slug: string): Promise<{ failure: LastFailure | null }> {
  return { failure: (await lastFailedAttempt(db, (await existingBox(db, slug)).id)) ?? null }
}

/** The maintenance windows and the rollouts that each of these rollouts waits for. */
export async function waitsOf(
  db: DbOrTx,
  rollouts: readonly StoredRollout[],
  counts: (rolloutId: string) => ActionCounts,
): Promise<(rolloutId: string) => Waits> {
  const until = await waitingUntil(db, rollouts, counts)
  const running = rollouts.filter(({ status }) => !isOver(status))
  const unfinished = await unfinishedAmong(
    db,
    running.flatMap(({ queuedBehind }) => queuedBehind),
  )
  const behind = new Map(running.map(({ id, queuedBehind }) => [id, queuedBehind.filter((other) => unfinished.has(other))]))
  return (id) => ({ waitingUntil: until(id), queuedBehind: behind.get(id) ?? [] })
}

/** Until when each rollout waits for maintenance windows: nothing is in flight and no box of its phase may begin before. */
async function waitingUntil(
  db: DbOrTx,
  rollouts: readonly StoredRollout[],
  counts: (rolloutId: string) => ActionCounts,
): Promise<(rolloutId: string) => string | null> {
  const idle = rollouts.filter((rollout) => phaseOf(rollout) && counts(rollout.id).running === 0).map(({ id }) => id)
  if (idle.length === 0) return () => null
  const rows = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollouts as rollout', 'rollout.id', 'action.rollout_id')
    .select((select) => [
      'action.rollout_id',
      select.fn.min('action.waits_until').as('until'),
      sql<number>`sum(case when action.progress is null then 1 else 0 end)`.as('ready'),
    ])
    .where('action.rollout_id', 'in', idle)
    .where('action.status', '=', 'pending')
    .whereRef('action.phase', '=', sql.ref('rollout.status'))
    .groupBy('action.rollout_id')
    .execute()
  const known = new Map(rows.map(({ rollout_id, until, ready }) => [rollout_id, Number(ready) === 0 ? until : null]))
  return (id) => known.get(id) ?? null
}

type Query = Readonly<{
  limit: number
  cursor?: string | undefined
  status?: RolloutStatus | undefined
  kind?: RolloutKind | undefined
  /** Only those created then or later. */
  since?: string | undefined
  /** The one that this caller created with it. */
  idempotencyKey?: string | undefined
}>

/** A page of rollouts with action counts, newest first. */
export async function listRollouts(
  { db }: Readonly<{ db: Db }>,
  actor: Actor,
  { limit, cursor, since, idempotencyKey, ...filter }: Query,
): Promise<{ rollouts: RolloutSummary[]; nextCursor: string | null }> {
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const key = idempotencyKey && keyOf(actor, idempotencyKey)
  const found = await rolloutsPage(db, { ...filter, limit: limit + 1, after, since, key })
  const { page, nextCursor } = pageOf(found, limit, ({ createdAt, id }) => `${createdAt}_${id}`)
  const counts = await countActions(
    db,
    page.map(({ id }) => id),
  )
  const waits = await waitsOf(db, page, counts)
  return { rollouts: page.map((rollout) => summaryOf(rollout, counts(rollout.id), waits(rollout.id))), nextCursor }
}

function readCursor(cursor: string): { createdAt: string; id: string } {
  const match = /^([0-9TZ:.-]+)_(.+)$/.exec(cursor)
  if (!match)
    throw problem('VALIDATION', 'cursor: must be the nextCursor of the previous page', {
      details: [{ path: 'cursor', reason: 'must be the nextCursor of the previous page' }],
    })
  return { createdAt: match[1] as string, id: match[2] as string }
}

/** Two callers with the same key get different rollouts. */
export const keyOf = (actor: Actor, key: string): string => `${actorLabel(actor)} ${key}`
