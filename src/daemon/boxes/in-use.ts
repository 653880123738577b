import { readOnlyCommands } from '../../core/boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'

import { type Command, commandsOfBox } from '../hosts/index.ts'

/** Commands that say why a box is not ready yet. */
export async function commandsOfSetUp(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('boxes').select('set_up_command').where('live', '=', 0).execute()
  return rows.map((row) => row.set_up_command)
}

/** Commands that a move or a removal waits for. */
export async function commandsOfLifecycle(db: DbOrTx): Promise<string[]> {
  const awaited = async (table: 'box_moves' | 'box_removals') =>
    db.selectFrom(table).select('command_id').where('finished_at', 'is', null).where('command_id', 'is not', null).execute()
  return [...(await awaited('box_moves')), ...(await awaited('box_removals'))].map((row) => row.command_id as string)
}

/** Snapshots that a box may still have to be made from (SAFETY, Snapshots): those of moves and removals that are not over. */
export async function snapshotsOfLifecycle(db: DbOrTx, boxIds: readonly string[]): Promise<{ snapshotId: string; neededBy: string }[]> {
  const needed = async (table: 'box_moves' | 'box_removals') =>
    db
      .selectFrom(table)
      .select(['id', 'snapshot_id'])
      .where('box_id', 'in', boxIds.length > 0 ? boxIds : [''])
      .where('finished_at', 'is', null)
      .where('snapshot_id', 'is not', null)
      .execute()
  const name = (what: string) => (row: { id: string; snapshot_id: string | null }) => ({
    snapshotId: row.snapshot_id as string,
    neededBy: `${what} ${row.id}`,
  })
  return [...(await needed('box_moves')).map(name('move')), ...(await needed('box_removals')).map(name('removal'))]
}

const changeNothing: readonly string[] = [...readOnlyCommands, 'tenant-box.healthcheck']
const isOpen = ({ status }: Command): boolean => status === 'queued' || status === 'leased' || status === 'running'

/** The daemon gave up waiting for it, but an agent had it and has not said how it ended. */
const isUnheard = ({ status, leaseToken, heardAt, finishedAt }: Command): boolean =>
  status === 'expired' && leaseToken > 0 && !(heardAt !== null && finishedAt !== null && heardAt > finishedAt)

/** Commands that may be changing the box now, newest first. Of those nobody was heard of, only what came after the last that was. */
export async function openCommands(db: DbOrTx, boxId: string): Promise<Command[]> {
  const commands = await commandsOfBox(db, boxId, { except: changeNothing, limit: 20 })
  const told = commands.findIndex(({ status }) => status === 'succeeded' || status === 'failed')
  return commands.filter((command, at) => isOpen(command) || (isUnheard(command) && (told < 0 || at < told)))
}
