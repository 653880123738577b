import { sql } from 'kysely'
import { boardLimits, causeOf, type Trigger, type TriggerOccurrence } from '../../../core/boards/index.ts'
import type { PageEnd } from '../../../core/contract/index.ts'
import { moduleDepthOf } from '../../../core/events/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { TriggerOccurrenceTable } from './triggers.tables.ts'

type One = Readonly<{ tenantId: string; boardId: string; occurrence: string }>
type Outcome = Readonly<{ outcome: TriggerOccurrenceTable['outcome']; runId: string | null; reason: string | null }>

export type Occurrence = One &
  Outcome &
  Readonly<{ triggerId: string; kind: Trigger['kind']; depth: number; roomId: string | null; at: string }>

/** Returns false if the board saw it before. */
export async function insertOccurrence(tx: Tx, { tenantId, boardId, occurrence, ...seen }: Occurrence): Promise<boolean> {
  const { triggerId, kind, outcome, runId, depth, roomId, reason, at } = seen
  const known = { board_id: boardId, occurrence, tenant_id: tenantId, trigger_id: triggerId, kind, depth, room_id: roomId, at }
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('trigger_occurrences')
    .values({ ...known, outcome, run_id: runId, reason })
    .onConflict((c) => c.columns(['board_id', 'occurrence']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export async function settleOccurrence(tx: Tx, { tenantId, boardId, occurrence }: One, { outcome, runId, reason }: Outcome): Promise<void> {
  await tx
    .updateTable('trigger_occurrences')
    .set({ outcome, run_id: runId, reason: reason?.slice(0, 1_000) ?? null })
    .where('tenant_id', '=', tenantId)
    .where('board_id', '=', boardId)
    .where('occurrence', '=', occurrence)
    .execute()
}

/** How many runs led to a run by their events; 0 for a run that something else started. */
async function depthOfRun(tx: Tx, { tenantId, runId }: Readonly<{ tenantId: string; runId: string }>): Promise<number> {
  const query = tx.selectFrom('trigger_occurrences').select('depth').where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  return Number((await query.executeTakeFirst())?.depth ?? 0)
}

/** The depth of what the event starts: one more than the run of a board or module that caused the event; 0 if none did. */
export async function depthAfter(
  tx: Tx,
  { tenantId, event }: Readonly<{ tenantId: string; event: Readonly<{ payload: unknown }> }>,
): Promise<number> {
  const ofModule = moduleDepthOf(event)
  if (ofModule !== undefined) return ofModule + 1
  const runId = causeOf(event)
  return runId === undefined ? 0 : (await depthOfRun(tx, { tenantId, runId })) + 1
}

/** How many runs of the tenant were started by events of other runs, counted up to the limit. */
export async function chainedStartsSince(tx: Tx, { tenantId, since }: Readonly<{ tenantId: string; since: string }>): Promise<number> {
  const query = tx.selectFrom('trigger_occurrences').select('at').where('tenant_id', '=', tenantId).where('at', '>', since)
  const chained = query.where(sql<boolean>`outcome = 'started' and depth > 0`) // literal, as in the index trigger_occurrences_chained
  return (await chained.limit(boardLimits.chainedStarts).execute()).length
}

/** Whether a loop of the board was recorded. */
export async function hasLoopSince(tx: Tx, { tenantId, boardId }: Omit<One, 'occurrence'>, since: string): Promise<boolean> {
  const query = tx.selectFrom('trigger_occurrences').select('at').where('tenant_id', '=', tenantId).where('board_id', '=', boardId)
  return (await query.where('at', '>', since).where(sql<boolean>`outcome = 'loop'`).limit(1).executeTakeFirst()) !== undefined
}

/** When a message of the room started the board last, and the run. */
export async function lastStartIn(
  tx: Tx,
  { tenantId, boardId, roomId }: Readonly<{ tenantId: string; boardId: string; roomId: string }>,
): Promise<Readonly<{ at: string; runId: string | null }> | undefined> {
  const row = await tx
    .selectFrom('trigger_occurrences')
    .select(['at', 'run_id'])
    .where('tenant_id', '=', tenantId)
    .where('board_id', '=', boardId)
    .where('room_id', '=', roomId)
    .where('outcome', '=', 'started')
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && { at: row.at, runId: row.run_id }
}

type Chat = Omit<One, 'occurrence'> & Readonly<{ roomId: string; outcome: 'skipped' | 'missed' | 'failed'; not: string }>

/** Whether a message of the room, other than `not`, had this outcome. */
export async function hasChatOutcomeSince(tx: Tx, { tenantId, boardId, roomId, outcome, not }: Chat, since: string): Promise<boolean> {
  const query = tx.selectFrom('trigger_occurrences').select('at').where('tenant_id', '=', tenantId).where('board_id', '=', boardId)
  const found = query.where('at', '>=', since).where('room_id', '=', roomId).where('outcome', '=', outcome).where('occurrence', '!=', not)
  return (await found.limit(1).executeTakeFirst()) !== undefined
}

/** Whether what a trigger of the board saw last started a run. Occurrences that start nothing by intent do not count, nor missed times. */
export async function hasStartedLast(tx: Tx, { tenantId, boardId }: Omit<One, 'occurrence'>): Promise<boolean> {
  const query = tx.selectFrom('trigger_occurrences').select('outcome').where('tenant_id', '=', tenantId).where('board_id', '=', boardId)
  const counted = query.where(({ eb, or, and }) =>
    or([eb('outcome', 'in', ['started', 'failed']), and([eb('outcome', '=', 'missed'), eb('kind', '=', 'chat')])]),
  )
  // At equal times `started` counts.
  const row = await counted.orderBy('at', 'desc').orderBy('outcome', 'desc').limit(1).executeTakeFirst()
  return row === undefined || row.outcome === 'started'
}

type Listing = Readonly<{ tenantId: string; boardId: string; after?: PageEnd | undefined; limit: number }>

/** The occurrences of a board's triggers, newest first. `key`: of the occurrence. */
export async function occurrencesOf(
  db: DbOrTx,
  { tenantId, boardId, after, limit }: Listing,
): Promise<(TriggerOccurrence & Readonly<{ key: string }>)[]> {
  let query = db
    .selectFrom('trigger_occurrences')
    .select(['occurrence', 'trigger_id', 'kind', 'outcome', 'run_id', 'reason', 'at'])
    .where('tenant_id', '=', tenantId)
    .where('board_id', '=', boardId)
    .orderBy('at', 'desc')
    .orderBy('occurrence', 'desc')
    .limit(limit)
  if (after)
    query = query.where(({ eb, or, and }) =>
      or([eb('at', '<', after.createdAt), and([eb('at', '=', after.createdAt), eb('occurrence', '<', after.id)])]),
    )
  const rows = await query.execute()
  return rows.map(({ occurrence: key, trigger_id: triggerId, run_id: runId, ...rest }) => ({ key, triggerId, runId, ...rest }))
}

export async function deleteOccurrencesBefore(db: DbOrTx, at: string): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('trigger_occurrences').where('at', '<', at).executeTakeFirst()
  return Number(numDeletedRows)
}
