import type { Selectable } from 'kysely'
import { type BoxCommandKind, type BoxCommandPayload, boxCommands, type Progress } from '../../core/boxes/index.ts'
import type { CommandError, CommandStatus } from '../../core/hosts/index.ts'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { type DbOrTx, inBatches, type Tx } from '../db/index.ts'
import { stateOf } from './command-states.repo.ts'
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
  ...stateOf(row),
  kind: row.kind as BoxCommandKind,
  payload: JSON.parse(row.payload),
  createdAt: row.created_at,
  deadlineAt: row.deadline_at,
  startedAt: row.started_at,
})

/**
 * Queues a command in the transaction of the change that wants it. Idempotent by id: the first one stands. Throws CONFLICT when the id
 * belongs to a command for another box, host or kind. After the commit call `bus.queued(hostId)`, or the agent learns of it up to a second later;
 * of questions to a whole fleet at its next poll at the latest.
 */
export async function enqueueCommand<Kind extends BoxCommandKind>(tx: Tx, clock: Clock, command: NewCommand<Kind>): Promise<Command> {
  const { added, known } = await queue(tx, clock, [command])
  return (known[0] ?? added.map(commandOf)[0]) as Command
}

/** The same for many at once. What a scan of ten thousand boxes asks fits into a second. */
export async function enqueueCommands<Kind extends BoxCommandKind>(
  tx: Tx,
  clock: Clock,
  commands: readonly NewCommand<Kind>[],
): Promise<void> {
  await queue(tx, clock, commands)
}

async function queue(tx: Tx, clock: Clock, commands: readonly NewCommand[]) {
  const rows = commands.map((command) => rowOf(clock, command))
  const isNew = new Set(await insertNew(tx, rows))
  const known = commands.filter(({ id }) => !isNew.has(id))
  return { added: rows.filter(({ id }) => isNew.has(id)), known: known.length === 0 ? [] : await standing(tx, known) }
}

/** Returns the ids that were not there before. */
async function insertNew(tx: Tx, rows: readonly Selectable<CommandTable>[]): Promise<string[]> {
  const ids: string[] = []
  for (const batch of inBatches(rows)) {
    const inserted = await tx
      .insertInto('commands')
      .values(batch)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .execute()
    ids.push(...inserted.map(({ id }) => id))
  }
  return ids
}

const rowOf = (clock: Clock, { id, hostId, boxId, kind, payload, deadlineMs }: NewCommand): Selectable<CommandTable> => ({
  id,
  host_id: hostId,
  box_id: boxId,
  kind,
  payload: JSON.stringify(boxCommands[kind].payload.parse(payload)),
  status: 'queued',
  lease_token: 0,
  lease_until: null,
  heard_at: null,
  revision: 1,
  progress: '[]',
  steps: '[]',
  result: null,
  error: null,
  created_at: isoNow(clock),
  deadline_at: isoIn(clock, deadlineMs),
  started_at: null,
  finished_at: null,
})

/** Those that were queued before; each must be the one that is meant. */
async function standing(tx: Tx, commands: readonly NewCommand[]): Promise<Command[]> {
  const found = await commandsByIds(
    tx,
    commands.map(({ id }) => id),
  )
  const meant = new Map(commands.map((command) => [command.id, command]))
  const other = found.find((stored) => {
    const { hostId, boxId, kind } = meant.get(stored.id) as NewCommand
    return stored.hostId !== hostId || stored.boxId !== boxId || stored.kind !== kind
  })
  if (!other) return found
  const { id, kind, boxId } = other
  throw problem('CONFLICT', `the command ${id} exists already, as ${kind} for the box ${boxId}: give a new attempt a new id`)
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

/** The newest commands of a box that are of none of the kinds, newest first. */
export async function commandsOfBox(
  db: DbOrTx,
  boxId: string,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<Command[]> {
  const newest = db.selectFrom('commands').selectAll().where('box_id', '=', boxId).where('kind', 'not in', except)
  return (await newest.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()).map(commandOf)
}
