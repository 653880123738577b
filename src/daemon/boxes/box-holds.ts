import { sql } from 'kysely'
import { type BoxId, boxHeld } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

/** Who may act on a box at the moment. Only an action in flight, an undo, a move or a restore holds one. */
export type BoxHold = Readonly<{ boxId: BoxId; holder: string; until: string }>

/** Holds the box for `holder` until then; the same holder may extend its hold. Throws BOX_HELD with the current holder. */
export async function holdBox(tx: Tx, clock: Clock, { boxId, holder, until }: BoxHold): Promise<void> {
  const { rows } = await sql`
    insert into box_holds (box_id, holder, until) values (${boxId}, ${holder}, ${until})
    on conflict (box_id) do update set holder = excluded.holder, until = excluded.until
    where box_holds.holder = excluded.holder or box_holds.until <= ${isoNow(clock)}
    returning box_id`.execute(tx)
  if (rows.length === 0) throw boxHeld(await currentHold(tx, boxId))
}

/** The hold may have ended in between. */
async function currentHold(tx: Tx, boxId: BoxId): Promise<Parameters<typeof boxHeld>[0]> {
  const { slug } = await tx.selectFrom('boxes').select('slug').where('id', '=', boxId).executeTakeFirstOrThrow()
  const other = await tx.selectFrom('box_holds').selectAll().where('box_id', '=', boxId).executeTakeFirst()
  return { slug, holder: other?.holder ?? 'another action', until: other?.until }
}

/** Releases the hold, unless another holder has taken it over. */
export async function releaseHold(tx: Tx, { boxId, holder }: Pick<BoxHold, 'boxId' | 'holder'>): Promise<void> {
  await tx.deleteFrom('box_holds').where('box_id', '=', boxId).where('holder', '=', holder).execute()
}

/** Holds of live boxes that are not over, by slug; those of one holder may be left out. */
export async function holdsBySlug(db: DbOrTx, clock: Clock, except = ''): Promise<ReadonlyMap<string, BoxHold>> {
  const rows = await db
    .selectFrom('box_holds')
    .crossJoin('boxes') // in this order: holds are few, and boxes thousands
    .whereRef('boxes.id', '=', 'box_holds.box_id')
    .select(['boxes.slug', 'box_holds.box_id', 'box_holds.holder', 'box_holds.until'])
    .where('boxes.live', '=', 1)
    .where('box_holds.until', '>', isoNow(clock))
    .where('box_holds.holder', '<>', except)
    .execute()
  return new Map(rows.map(({ slug, box_id, holder, until }) => [slug, { boxId: box_id as BoxId, holder, until }]))
}

/** Holds that are not over, by box. */
export async function holdsOf(db: DbOrTx, clock: Clock, boxIds?: readonly BoxId[]): Promise<ReadonlyMap<BoxId, BoxHold>> {
  let query = db.selectFrom('box_holds').selectAll().where('until', '>', isoNow(clock))
  if (boxIds) query = query.where('box_id', 'in', boxIds.length > 0 ? [...boxIds] : [''])
  const holds = (await query.execute()).map(({ box_id, holder, until }) => ({ boxId: box_id as BoxId, holder, until }))
  return new Map(holds.map((hold) => [hold.boxId, hold]))
}
