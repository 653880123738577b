import { readOnlyCommands } from '../../core/boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'

import { type Command, commandsOfBox, isAnswered } from '../hosts/index.ts'

/** Set-up commands of boxes that are not live, which explain why. */
export async function commandsOfSetUp(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('boxes').select('set_up_command').where('live', '=', 0).execute()
  return rows.map((row) => row.set_up_command)
}

/** Commands that open moves, removals and imports wait for. */
export async function commandsOfLifecycle(db: DbOrTx): Promise<string[]> {
  const awaited = async (table: 'box_moves' | 'box_removals' | 'box_imports') =>
    db.selectFrom(table).select('command_id').where('finished_at', 'is', null).where('command_id', 'is not', null).execute()
  return [...(await awaited('box_moves')), ...(await awaited('box_removals')), ...(await awaited('box_imports'))].map(
    (row) => row.command_id as string,
  )
}

/** Snapshots of open moves and removals, which retention must keep (SAFETY, Snapshots). */
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

const harmlessKinds: readonly string[] = [...readOnlyCommands, 'tenant-box.healthcheck']
const isOpen = ({ status }: Command): boolean => status === 'queued' || status === 'leased' || status === 'running'

/** Expired, but leased by an agent that has not reported its end. */
const isUnresolved = (command: Command): boolean => command.status === 'expired' && command.leaseToken > 0 && !isAnswered(command)

/** Commands that may be changing the box, newest first. Unresolved ones count only when they are newer than the last finished one. */
export async function openCommands(db: DbOrTx, boxId: string): Promise<Command[]> {
  const commands = await commandsOfBox(db, boxId, { except: harmlessKinds, limit: 20 })
  const finished = commands.findIndex(({ status }) => status === 'succeeded' || status === 'failed')
  return commands.filter((command, at) => isOpen(command) || (isUnresolved(command) && (finished < 0 || at < finished)))
}
