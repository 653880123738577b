import type { DbOrTx } from '../../db/index.ts'

/** Commands that a move or a removal waits for. */
export async function commandsOfLife(db: DbOrTx): Promise<string[]> {
  const awaited = async (table: 'box_moves' | 'box_removals') =>
    db.selectFrom(table).select('command_id').where('finished_at', 'is', null).where('command_id', 'is not', null).execute()
  return [...(await awaited('box_moves')), ...(await awaited('box_removals'))].map((row) => row.command_id as string)
}

/** Snapshots that a box may still have to be made from (SAFETY, Snapshots): those of moves and removals that are not over. */
export async function snapshotsOfLife(db: DbOrTx, boxIds: readonly string[]): Promise<{ snapshotId: string; neededBy: string }[]> {
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
