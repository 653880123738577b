import type { Selectable } from 'kysely'
import type { DbOrTx } from '../db/index.ts'
import type { Command } from './command.repo.ts'
import type { CommandTable } from './hosts.tables.ts'

/** Of a command what became of it, without what was ordered: whoever waits for commands looks several times at each. */
export type CommandState = Pick<
  Command,
  'id' | 'hostId' | 'boxId' | 'status' | 'leaseToken' | 'revision' | 'progress' | 'result' | 'error' | 'heardAt' | 'finishedAt'
>

/** Those that exist among the ids, in no order. */
export async function statesOfCommands(db: DbOrTx, ids: readonly string[]): Promise<CommandState[]> {
  if (ids.length === 0) return []
  return (await db.selectFrom('commands').select(columns).where('id', 'in', ids).execute()).map(stateOf)
}

const columns = [
  ...(['id', 'host_id', 'box_id', 'status', 'lease_token', 'revision', 'progress'] as const),
  ...(['result', 'error', 'heard_at', 'finished_at'] as const),
]
type Row = Pick<Selectable<CommandTable>, (typeof columns)[number]>

export const stateOf = (row: Row): CommandState => ({
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
