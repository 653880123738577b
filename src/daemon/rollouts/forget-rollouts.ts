import { sql } from 'kysely'
import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import { type ActionStatus, inFlightStatuses } from '../../core/rollouts/index.ts'
import type { Db } from '../db/index.ts'
import { openActions, openRollouts, openUndos } from './still-open.ts'
import { streamOf } from './tell.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

const dayMs = 86_400_000
/** The live story is for watching; the audit chain tells the same for ever. */
const eventsKeptMs = 90 * dayMs
/** What proves the outcome of each box; its sums stay in the audit chain, and an export keeps it whole. */
const evidenceKeptMs = 730 * dayMs
/** Rows per statement: others want to write too. */
const chunkSize = 1000
const rolloutsAtOnce = 100

/**
 * Deletes, of rollouts that ended 90 days ago, the event streams, and after two years the evidence of their attempts; says how much that was.
 * Rollouts themselves, their actions and their audit chains stay.
 */
export async function forgetRollouts(deps: Deps, signal: AbortSignal): Promise<string> {
  const events = await forget(deps, signal, streams)
  const attempts = await forget(deps, signal, evidence)
  return `${plural(events, 'event')} of rollouts, the evidence of ${plural(attempts, 'attempt')}`
}

type Forgotten = Readonly<{
  keptMs: number
  /** Whether there is anything left of a rollout. */
  having: typeof withEvents
  /** A rollout with a box that stands so keeps it: whoever decides about the box needs what there is. */
  open: readonly ActionStatus[]
  /** Deletes some of it and says how much; less than `chunkSize` is the last. */
  remove: (db: Db, rolloutId: string) => Promise<number>
}>

async function forget({ db, clock }: Deps, signal: AbortSignal, what: Forgotten): Promise<number> {
  let deleted = 0
  while (!signal.aborted) {
    const ids = await endedLongAgo(db, isoIn(clock, -what.keptMs), what)
    if (ids.length === 0) break
    for (const id of ids) {
      // The oldest go first: what is left after a crash is the end of the story, and the next night takes it.
      for (let gone = chunkSize; gone >= chunkSize && !signal.aborted; deleted += gone) gone = await what.remove(db, id)
    }
  }
  return deleted
}

const withEvents = sql<boolean>`exists (select 1 from events where events.stream = 'rollout:' || rollouts.id)`
const withAttempts = sql<boolean>`exists (select 1 from rollout_attempts where rollout_attempts.rollout_id = rollouts.id)`

/** Over, and no box of it still on its way there or back. */
async function endedLongAgo(db: Db, before: string, { having, open }: Forgotten): Promise<string[]> {
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
            .where((either) => either.or([either('action.status', 'in', open), either('action.undo_status', 'in', openUndos)])),
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

const streams: Forgotten = { keptMs: eventsKeptMs, having: withEvents, open: inFlightStatuses, remove: deleteEvents }
const evidence: Forgotten = { keptMs: evidenceKeptMs, having: withAttempts, open: openActions, remove: deleteAttempts }
