import type { Selectable } from 'kysely'
import { type BoxCommandKind, type BoxCommandPayload, boxCommands, type Progress } from '../../core/boxes/index.ts'
import type { CommandError, CommandStatus, FirstReport } from '../../core/hosts/index.ts'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { traceparent } from '../../node/index.ts'
import { type DbOrTx, inBatches, type Tx } from '../db/index.ts'
import type { CommandTable } from './hosts.tables.ts'

/** A stored command. `boxCommands` defines the shapes of `payload` and `result` for each kind. */
export type Command = Readonly<{
  id: string
  hostId: string
  boxId: string
  kind: BoxCommandKind
  payload: unknown
  status: CommandStatus
  /** 0 until it was leased for the first time. */
  leaseToken: number
  revision: number
  progress: readonly Progress[]
  /** The agent's result, also a late one of an `expired` command. */
  result: unknown
  error: CommandError | null
  createdAt: string
  deadlineAt: string
  /** The trace in which it was queued. */
  trace: string | null
  startedAt: string | null
  /** Last sign of life of the agent; later than `finishedAt` if an `expired` command was answered late. */
  heardAt: string | null
  finishedAt: string | null
}>

/** True for an expired command whose agent answered after all. */
export const isAnswered = ({ heardAt, finishedAt }: Pick<Command, 'heardAt' | 'finishedAt'>): boolean =>
  heardAt !== null && finishedAt !== null && heardAt > finishedAt

export type NewCommand<Kind extends BoxCommandKind = BoxCommandKind> = Readonly<{
  /** Chosen by the caller, for idempotency. */
  id: string
  hostId: string
  boxId: string
  kind: Kind
  payload: BoxCommandPayload<Kind>
  /** From now, including the wait for the agent; afterwards the command expires. */
  deadlineMs: number
}>

export const commandOf = (row: Selectable<CommandTable>): Command => ({
  ...stateOf(row),
  kind: row.kind as BoxCommandKind,
  payload: JSON.parse(row.payload),
  createdAt: row.created_at,
  deadlineAt: row.deadline_at,
  trace: row.trace,
  startedAt: row.started_at,
})

/**
 * Queues a command in the caller's transaction. Idempotent by id. Throws CONFLICT when the id belongs to another box, host or kind.
 * Call `bus.queued(hostId)` after the commit; otherwise the agent notices within a second, or at its next poll for low-priority kinds.
 */
export async function enqueueCommand<Kind extends BoxCommandKind>(tx: Tx, clock: Clock, command: NewCommand<Kind>): Promise<Command> {
  const { added, known } = await queue(tx, clock, [command])
  return (known[0] ?? added.map(commandOf)[0]) as Command
}

/** Queues many commands at once, such as a scan of the fleet. */
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
  return { added: rows.filter(({ id }) => isNew.has(id)), known: known.length === 0 ? [] : await assertSameCommands(tx, known) }
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
  trace: traceparent() ?? null,
  started_at: null,
  finished_at: null,
})

/** Returns the commands that existed before. Throws CONFLICT if an id belongs to another command. */
async function assertSameCommands(tx: Tx, commands: readonly NewCommand[]): Promise<Command[]> {
  const found = await commandsByIds(
    tx,
    commands.map(({ id }) => id),
  )
  const expected = new Map(commands.map((command) => [command.id, command]))
  const other = found.find((stored) => {
    const { hostId, boxId, kind } = expected.get(stored.id) as NewCommand
    return stored.hostId !== hostId || stored.boxId !== boxId || stored.kind !== kind
  })
  if (!other) return found
  const { id, kind, boxId } = other
  throw problem('CONFLICT', `Command ${id} exists already, as ${kind} for box ${boxId}. fix: use a new id for a new attempt`)
}

/** Throws NOT_FOUND. */
export async function commandById(db: DbOrTx, id: string): Promise<Command> {
  const row = await db.selectFrom('commands').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `Command ${id} does not exist.`)
  return commandOf(row)
}

/** The existing commands among the ids, unordered. */
export async function commandsByIds(db: DbOrTx, ids: readonly string[]): Promise<Command[]> {
  if (ids.length === 0) return []
  return (await db.selectFrom('commands').selectAll().where('id', 'in', ids).execute()).map(commandOf)
}

/** The newest commands of a box, except the given kinds, newest first. */
export async function commandsOfBox(
  db: DbOrTx,
  boxId: string,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<Command[]> {
  const newest = db.selectFrom('commands').selectAll().where('box_id', '=', boxId).where('kind', 'not in', except)
  return (await newest.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()).map(commandOf)
}

/** The commands of one kind of a box that have not ended. */
export async function openCommandsOfKind(db: DbOrTx, boxId: string, kind: BoxCommandKind): Promise<Command[]> {
  const ofBox = db.selectFrom('commands').selectAll().where('box_id', '=', boxId).where('kind', '=', kind)
  return (await ofBox.where('status', 'in', ['queued', 'leased', 'running']).execute()).map(commandOf)
}

/** The state of a command without its payload, for repeated polling. */
export type CommandState = Pick<
  Command,
  'id' | 'hostId' | 'boxId' | 'status' | 'leaseToken' | 'revision' | 'progress' | 'result' | 'error' | 'heardAt' | 'finishedAt'
>

/** The existing commands among the ids, unordered. */
export async function statesOfCommands(db: DbOrTx, ids: readonly string[]): Promise<CommandState[]> {
  if (ids.length === 0) return []
  return (await db.selectFrom('commands').select(stateColumns).where('id', 'in', ids).execute()).map(stateOf)
}

const stateColumns = [
  ...(['id', 'host_id', 'box_id', 'status', 'lease_token', 'revision', 'progress'] as const),
  ...(['result', 'error', 'heard_at', 'finished_at'] as const),
]
type StateRow = Pick<Selectable<CommandTable>, (typeof stateColumns)[number]>

const stateOf = (row: StateRow): CommandState => ({
  id: row.id,
  hostId: row.host_id,
  boxId: row.box_id,
  status: row.status,
  leaseToken: row.lease_token,
  revision: row.revision,
  progress: JSON.parse(row.progress),
  result: row.result === null ? null : JSON.parse(row.result),
  error: row.error === null ? null : JSON.parse(row.error),
  heardAt: row.heard_at,
  finishedAt: row.finished_at,
})

type CommandSteps = Readonly<{ id: string; steps: readonly FirstReport[] }>

/** The existing commands among the ids, in the order of the ids. */
export async function stepsOfCommands(db: DbOrTx, ids: readonly string[]): Promise<CommandSteps[]> {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('commands').select(['id', 'steps']).where('id', 'in', ids).execute()
  return rows
    .map(({ id, steps }) => ({ id, steps: JSON.parse(steps) as FirstReport[] }))
    .toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}

type Ended = Readonly<{ kind: BoxCommandKind; before: string; boxId?: string | undefined }>

/** Deletes commands of a kind that ended before a time: of one box, or of all. */
export async function deleteEndedCommands(db: DbOrTx, { kind, before, boxId }: Ended): Promise<void> {
  const old = db
    .deleteFrom('commands')
    .where('kind', '=', kind)
    .where('status', 'in', ['succeeded', 'failed', 'expired'])
    .where('finished_at', '<=', before)
  await (boxId === undefined ? old : old.where('box_id', '=', boxId)).execute()
}
