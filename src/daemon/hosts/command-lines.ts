import { sql } from 'kysely'
import { isFollowing, type LogBatch } from '../../core/boxes/index.ts'
import type { HeldCommand } from '../../core/hosts/index.ts'
import { type AgentActor, isProblem } from '../../core/kit/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import type { HostsDeps } from './deps.ts'
import { openStatuses } from './expire-commands.ts'
import { lockLeasedCommand, renewLease } from './leased-commands.ts'

// Log lines on their way to a follower, who may be connected to another replica than the agent.

/** A follower that is further behind gets no more until it has read some. */
const maxWaitingBatches = 5

type Accepted = 'accepted' | 'busy' | 'ended'
type Sent = LogBatch & Readonly<{ commandId: string; leaseToken: number }>

/** Stores lines of several commands. `ended`: the command is over, or unknown. */
export async function storeLines(deps: HostsDeps, agent: AgentActor, batches: readonly Sent[]): Promise<Accepted[]> {
  const states: Accepted[] = []
  for (const { commandId: id, leaseToken, ...batch } of batches)
    states.push(await storeBatch(deps, { agent, held: { id, leaseToken } }, batch).catch((error) => failed(deps, id, error)))
  return states
}

/** The other batches of the call are stored, so it succeeds. */
function failed({ log }: HostsDeps, commandId: string, err: unknown): Accepted {
  if (isProblem(err, 'NOT_FOUND')) return 'ended'
  log.warn({ err, commandId }, 'cannot store lines of a followed log; the agent sends them again')
  return 'busy'
}

/** Stores lines for the follower and renews the lease. Throws NOT_FOUND. */
async function storeBatch(
  deps: HostsDeps,
  { agent, held }: Readonly<{ agent: AgentActor; held: HeldCommand }>,
  batch: LogBatch,
): Promise<Accepted> {
  const state = await deps.db.transaction().execute(async (tx) => {
    const { kind, boxId } = await lockLeasedCommand({ ...deps, tx }, agent, held)
    if (!isFollowing(kind) || !(await renewLease(tx, deps, held))) return 'ended'
    if (batch.lines.length === 0 && !batch.leftOut) return 'accepted'
    const waiting = await tx.selectFrom('command_lines').select('seq').where('command_id', '=', held.id).orderBy('seq', 'desc').execute()
    if (waiting.length >= maxWaitingBatches) return 'busy'
    const seq = Number(waiting[0]?.seq ?? 0) + 1
    await tx
      .insertInto('command_lines')
      .values({ command_id: held.id, seq, box_id: boxId, batch: JSON.stringify(batch) })
      .execute()
    await tx.updateTable('commands').set({ revision: sql`revision + 1` }).where('id', '=', held.id).execute()
    return 'accepted'
  })
  deps.bus.changed(held.id)
  return state
}

/** Takes the lines that wait for the follower of a command, oldest first. */
export async function takeLines(db: Db, commandId: string): Promise<LogBatch[]> {
  const waiting = await db.selectFrom('command_lines').select(['seq', 'batch']).where('command_id', '=', commandId).orderBy('seq').execute()
  const last = waiting.at(-1)?.seq
  if (last === undefined) return []
  await db.deleteFrom('command_lines').where('command_id', '=', commandId).where('seq', '<=', last).execute()
  return waiting.map(({ batch }) => JSON.parse(batch) as LogBatch)
}

export const deleteLines = async (db: DbOrTx, commandId: string): Promise<void> => {
  await db.deleteFrom('command_lines').where('command_id', '=', commandId).execute()
}

/** The open commands that followers read. */
export const openFollowers = (db: DbOrTx): Promise<{ id: string; host_id: string }[]> =>
  db
    .selectFrom('commands')
    .select(['id', 'host_id'])
    .where('status', 'in', openStatuses)
    .where('kind', '=', 'tenant-box.follow_logs')
    .execute()

/** Moves the deadline of an open command. */
export async function extendDeadline(db: DbOrTx, { id, deadlineAt }: Readonly<{ id: string; deadlineAt: string }>): Promise<void> {
  await db.updateTable('commands').set({ deadline_at: deadlineAt }).where('id', '=', id).where('status', 'in', openStatuses).execute()
}
