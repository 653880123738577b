import { sql } from 'kysely'
import type { BoxCommandKind } from '../core/boxes/index.ts'
import { type Clock, isoNow, isProblem } from '../core/kit/index.ts'
import type { Db } from '../daemon/db/index.ts'

// Stores the engine's commands and their answers as the agent channel does, without a channel.

export type QueuedCommand = Readonly<{
  id: string
  hostId: string
  kind: BoxCommandKind
  payload: Readonly<{ slug: string }>
  deadlineAt: string
}>

/** The answer of an agent. */
export type CommandAnswer = Readonly<{ id: string; result: unknown; error: Readonly<{ code: string; message: string }> | null }>

/** Queued commands, in id order. */
export async function queuedCommands(db: Db): Promise<QueuedCommand[]> {
  const rows = await db
    .selectFrom('commands')
    .select(['id', 'host_id', 'kind', 'payload', 'deadline_at'])
    .where('status', '=', 'queued')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    hostId: row.host_id,
    kind: row.kind as BoxCommandKind,
    payload: JSON.parse(row.payload),
    deadlineAt: row.deadline_at,
  }))
}

export async function storeTaken(db: Db, clock: Clock, id: string): Promise<void> {
  const at = isoNow(clock)
  await db
    .updateTable('commands')
    .set({ status: 'running', lease_token: 1, heard_at: at, started_at: at, revision: sql`revision + 1` })
    .where('id', '=', id)
    .execute()
}

/** Stores the result; an expired command stays expired. */
export async function storeAnswer(db: Db, clock: Clock, { id, result, error }: CommandAnswer): Promise<void> {
  const at = isoNow(clock)
  await db
    .updateTable('commands')
    .set({
      status: sql`case when status = 'expired' then status else ${error ? 'failed' : 'succeeded'} end`,
      heard_at: at,
      finished_at: at,
      result: error ? null : JSON.stringify(result),
      error: error && JSON.stringify(error),
      revision: sql`revision + 1`,
    })
    .where('id', '=', id)
    .execute()
}

/** Expires commands past their deadline. */
export async function expireLate(db: Db, clock: Clock): Promise<void> {
  const at = isoNow(clock)
  const error = { code: 'COMMAND_EXPIRED', message: 'the deadline passed without a result; check the host and the box' }
  await db
    .updateTable('commands')
    .set({ status: 'expired', finished_at: at, error: JSON.stringify(error), revision: sql`revision + 1` })
    .where('status', 'in', ['queued', 'leased', 'running'])
    .where('deadline_at', '<=', at)
    .execute()
}

export const failureOf = (error: unknown): CommandAnswer['error'] => ({
  code: isProblem(error) ? error.code : 'INTERNAL',
  message: (error as Error).message,
})

/** The next window opening that a box waits for, or the end of the bake, in monotonic milliseconds. */
export async function nextChangeMs(db: Db, clock: Clock & { monotonicMs(): number }, rolloutId: string): Promise<number | undefined> {
  const now = isoNow(clock)
  const waiting = await db
    .selectFrom('rollout_actions')
    .select((select) => select.fn.min('waits_until').as('opens'))
    .where('rollout_id', '=', rolloutId)
    .where('status', '=', 'pending')
    .where('waits_until', '>', now)
    .executeTakeFirst()
  const rollout = await db.selectFrom('rollouts').select('bake_until').where('id', '=', rolloutId).executeTakeFirst()
  const next = [waiting?.opens, rollout?.bake_until].filter((at) => at != null && at > now).sort()[0]
  return next ? clock.monotonicMs() + Date.parse(next) - clock.now().getTime() : undefined
}
