import { sql } from 'kysely'
import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import { type ActionStatus, inFlightStatuses } from '../../core/rollouts/index.ts'
import type { Db } from '../db/index.ts'
import { openActions, openRollbacks, openRollouts } from './open-rollouts.repo.ts'
import { streamOf } from './publish.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

const dayMs = 86_400_000
/** Events are for following a rollout live; the audit chain stays for ever. */
const eventsRetentionMs = 90 * dayMs
/** The checksums of evidence stay in the audit chain; an export keeps the evidence itself. */
const evidenceRetentionMs = 730 * dayMs
/** Rows per statement: no statement locks the tables for long. */
const chunkSize = 1000
const rolloutsAtOnce = 100

/**
 * Deletes, of rollouts that ended 90 days ago, the event streams, and after two years the evidence of their attempts; answers a summary.
 * Rollouts themselves, their actions and their audit chains stay.
 */
export async function cleanUpRollouts(deps: Deps, signal: AbortSignal): Promise<string> {
  const events = await cleanUp(deps, signal, streams)
  const attempts = await cleanUp(deps, signal, evidence)
  return `${plural(events, 'event')} of rollouts, the evidence of ${plural(attempts, 'attempt')}`
}

type Cleanup = Readonly<{
  retentionMs: number
  /** True for a rollout that has rows left. */
  having: typeof withEvents
  /** A rollout with an action in such a status is not cleaned up: an operator may still need it. */
  open: readonly ActionStatus[]
  /** Deletes one chunk and answers its size; fewer rows than `chunkSize` were the last. */
  remove: (db: Db, rolloutId: string) => Promise<number>
}>

async function cleanUp({ db, clock }: Deps, signal: AbortSignal, what: Cleanup): Promise<number> {
  let deleted = 0
  while (!signal.aborted) {
    const ids = await endedLongAgo(db, isoIn(clock, -what.retentionMs), what)
    if (ids.length === 0) break
    for (const id of ids) {
      // Oldest first: after a crash the newest rows are left, and the next night deletes them.
      for (let gone = chunkSize; gone >= chunkSize && !signal.aborted; deleted += gone) gone = await what.remove(db, id)
    }
  }
  return deleted
}

const withEvents = sql<boolean>`exists (select 1 from events where events.stream = 'rollout:' || rollouts.id)`
const withAttempts = sql<boolean>`exists (select 1 from rollout_attempts where rollout_attempts.rollout_id = rollouts.id)`

/** Finished, with no box in flight or in rollback. */
async function endedLongAgo(db: Db, before: string, { having, open }: Cleanup): Promise<string[]> {
  const rows = await db
    .selectFrom('rollouts')
    .select('id')
    .where('status', 'not in', openRollouts)
    .where('finished_at', '<=', before)
    .where(having)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('rollout_actions as action')
            .select('action.id')
            .whereRef('action.rollout_id', '=', 'rollouts.id')
            .where((either) => either.or([either('action.status', 'in', open), either('action.rollback_status', 'in', openRollbacks)])),
        ),
      ),
    )
    .orderBy('finished_at')
    .limit(rolloutsAtOnce)
    .execute()
  return rows.map(({ id }) => id)
}

async function deleteEvents(db: Db, rolloutId: string): Promise<number> {
  const stream = streamOf(rolloutId)
  const oldest = db.selectFrom('events').select('seq').where('stream', '=', stream).orderBy('seq').limit(chunkSize)
  const { numDeletedRows } = await db.deleteFrom('events').where('stream', '=', stream).where('seq', 'in', oldest).executeTakeFirst()
  return Number(numDeletedRows)
}

async function deleteAttempts(db: Db, rolloutId: string): Promise<number> {
  const some = db
    .selectFrom('rollout_attempts')
    .select('action_id')
    .where('rollout_id', '=', rolloutId)
    .orderBy('action_id')
    .limit(chunkSize)
  const { numDeletedRows } = await db
    .deleteFrom('rollout_attempts')
    .where('rollout_id', '=', rolloutId)
    .where('action_id', 'in', some)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

const streams: Cleanup = { retentionMs: eventsRetentionMs, having: withEvents, open: inFlightStatuses, remove: deleteEvents }
const evidence: Cleanup = { retentionMs: evidenceRetentionMs, having: withAttempts, open: openActions, remove: deleteAttempts }
