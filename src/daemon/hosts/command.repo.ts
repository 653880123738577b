import type { Selectable } from 'kysely'
import { type BoxCommandKind, type BoxCommandPayload, boxCommands, type Progress } from '../../core/boxes/index.ts'
import type { CommandError, CommandStatus } from '../../core/hosts/index.ts'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { CommandTable } from './hosts.tables.ts'

/** A command as the daemon keeps it. `payload` and `result` have the shape that `boxCommands` gives their kind. */
export type Command = Readonly<{
  id: string
  hostId: string
  boxId: string
  kind: BoxCommandKind
  payload: unknown
  status: CommandStatus
  /** 0 until it was handed out for the first time. */
  leaseToken: number
  revision: number
  progress: readonly Progress[]
  /** What the agent answered; also of an `expired` command whose answer came late. */
  result: unknown
  error: CommandError | null
  createdAt: string
  deadlineAt: string
  startedAt: string | null
  /** When its holder was last heard of; later than `finishedAt` when the answer to an `expired` command came late. */
  heardAt: string | null
  finishedAt: string | null
}>

export type NewCommand<Kind extends BoxCommandKind = BoxCommandKind> = Readonly<{
  /** The caller's own: queuing it twice queues it once. */
  id: string
  hostId: string
  boxId: string
  kind: Kind
  payload: BoxCommandPayload<Kind>
  /** From now, waiting for the agent included. After it the command is `expired`. */
  deadlineMs: number
}>

export const commandOf = (row: Selectable<CommandTable>): Command => ({
  id: row.id,
  hostId: row.host_id,
  boxId: row.box_id,
  kind: row.kind as BoxCommandKind,
  payload: JSON.parse(row.payload),
  status: row.status,
  leaseToken: row.lease_token,
  revision: row.revision,
  progress: JSON.parse(row.progress),
  result: row.result === null ? null : JSON.parse(row.result),
  error: row.error === null ? null : JSON.parse(row.error),
  createdAt: row.created_at,
  deadlineAt: row.deadline_at,
  startedAt: row.started_at,
  heardAt: row.heard_at,
  finishedAt: row.finished_at,
})

/**
 * Queues a command in the transaction of the change that wants it. Idempotent by id: the first one stands. Throws CONFLICT when the id
 * belongs to a command for another box, host or kind. After the commit call `bus.queued(hostId)`, or the agent learns of it up to a second later.
 */
export async function enqueueCommand<Kind extends BoxCommandKind>(tx: Tx, clock: Clock, command: NewCommand<Kind>): Promise<Command> {
  const { id, hostId, boxId, kind, deadlineMs } = command
  await tx
    .insertInto('commands')
    .values({
      id,
      host_id: hostId,
      box_id: boxId,
      kind,
      payload: JSON.stringify(boxCommands[kind].payload.parse(command.payload)),
      status: 'queued',
      lease_token: 0,
      lease_until: null,
      heard_at: null,
      revision: 1,
      progress: '[]',
      result: null,
      error: null,
      created_at: isoNow(clock),
      deadline_at: isoIn(clock, deadlineMs),
      started_at: null,
      finished_at: null,
    })
    .onConflict((c) => c.column('id').doNothing())
    .execute()
  const stored = await commandById(tx, id)
  if (stored.hostId !== hostId || stored.boxId !== boxId || stored.kind !== kind) {
    throw problem(
      'CONFLICT',
      `the command ${id} exists already, as ${stored.kind} for the box ${stored.boxId}: give a new attempt a new id`,
    )
  }
  return stored
}

/** Throws NOT_FOUND. */
export async function commandById(db: DbOrTx, id: string): Promise<Command> {
  const row = await db.selectFrom('commands').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `there is no command ${id}`)
  return commandOf(row)
}

/** The commands that exist among the ids, in no order. */
export async function commandsByIds(db: DbOrTx, ids: readonly string[]): Promise<Command[]> {
  if (ids.length === 0) return []
  return (await db.selectFrom('commands').selectAll().where('id', 'in', ids).execute()).map(commandOf)
}
