import { sql } from 'kysely'
import type { BoxCommandKind } from '../core/boxes/index.ts'
import { type Clock, isoNow, isProblem } from '../core/kit/index.ts'
import type { Db } from '../daemon/db/index.ts'

// The commands of the engine as the channel to the agents would keep them, without a channel.

export type QueuedCommand = Readonly<{
  id: string
  hostId: string
  kind: BoxCommandKind
  payload: Readonly<{ slug: string }>
  deadlineAt: string
}>

/** What an agent has answered. */
export type CommandAnswer = Readonly<{ id: string; result: unknown; error: Readonly<{ code: string; message: string }> | null }>

/** Commands that no agent has, in the order of their names. */
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

/** A result counts also when nobody waits for it any more. */
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

/** The daemon stops waiting for what is past its deadline. */
export async function expireLate(db: Db, clock: Clock): Promise<void> {
  const at = isoNow(clock)
  const error = { code: 'COMMAND_EXPIRED', message: 'the deadline passed without a result: look at the host and at the box' }
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

/** When the next box that waits for its window may go, on the clock's own count. */
export async function nextOpeningMs(db: Db, clock: Clock & { monotonicMs(): number }, rolloutId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('rollout_actions')
    .select((select) => select.fn.min('waits_until').as('opens'))
    .where('rollout_id', '=', rolloutId)
    .where('status', '=', 'pending')
    .where('waits_until', '>', isoNow(clock))
    .executeTakeFirst()
  return row?.opens ? clock.monotonicMs() + Date.parse(row.opens) - clock.now().getTime() : undefined
}
