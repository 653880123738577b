import { type Actor, problem } from '../../core/kit/index.ts'
import type { RolloutKind, RolloutStatus, RolloutSummary } from '../../core/rollouts/index.ts'
import type { Db } from '../db/index.ts'
import { countActions } from './actions.repo.ts'
import { keyOf } from './queue-rollout.ts'
import { rolloutsPage } from './rollouts.repo.ts'
import { summaryOf, waitingUntil } from './show-rollout.ts'

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
  const found = await rolloutsPage(db, { ...filter, limit: limit + 1, after, since: since && new Date(since).toISOString(), key })
  const page = found.slice(0, limit)
  const counts = await countActions(
    db,
    page.map(({ id }) => id),
  )
  const waits = await waitingUntil(db, page, counts)
  const last = page.at(-1)
  return {
    rollouts: page.map((rollout) => summaryOf(rollout, counts(rollout.id), waits(rollout.id))),
    nextCursor: found.length > limit && last ? `${last.createdAt}_${last.id}` : null,
  }
}

function readCursor(cursor: string): { createdAt: string; id: string } {
  const match = /^([0-9TZ:.-]+)_(.+)$/.exec(cursor)
  if (!match)
    throw problem('VALIDATION', 'cursor: is not the nextCursor of a page', {
      details: [{ path: 'cursor', reason: 'is not the nextCursor of a page' }],
    })
  return { createdAt: match[1] as string, id: match[2] as string }
}
