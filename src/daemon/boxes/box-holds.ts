import { sql } from 'kysely'
import { type BoxId, boxHeld } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

/** Who may act on a box at the moment. Only an action in flight, an undo, a move or a restore holds one. */
export type BoxHold = Readonly<{ boxId: BoxId; holder: string; until: string }>

/** Takes the box for `holder` until then; the same holder may extend. Throws BOX_HELD naming who has it. */
export const holdBox = (tx: Tx, clock: Clock, hold: BoxHold): Promise<void> => holdBoxes(tx, clock, [hold])

/** The same for several boxes at once. Where it throws, some of them may have been taken: whoever goes on must give them back. */
export async function holdBoxes(tx: Tx, clock: Clock, holds: readonly BoxHold[]): Promise<void> {
  if (holds.length === 0) return
  const { rows } = await sql<{ box_id: string }>`
    insert into box_holds (box_id, holder, until)
    values ${sql.join(holds.map(({ boxId, holder, until }) => sql`(${boxId}, ${holder}, ${until})`))}
    on conflict (box_id) do update set holder = excluded.holder, until = excluded.until
    where box_holds.holder = excluded.holder or box_holds.until <= ${isoNow(clock)}
    returning box_id`.execute(tx)
  if (rows.length === holds.length) return
  const taken = new Set(rows.map(({ box_id }) => box_id))
  const boxId = holds.find((hold) => !taken.has(hold.boxId))?.boxId as BoxId
  throw boxHeld(await holdingNow(tx, boxId))
}

/** Whoever gave the box back since then is not known any more. */
async function holdingNow(tx: Tx, boxId: BoxId): Promise<Parameters<typeof boxHeld>[0]> {
  const { slug } = await tx.selectFrom('boxes').select('slug').where('id', '=', boxId).executeTakeFirstOrThrow()
  const other = await tx.selectFrom('box_holds').selectAll().where('box_id', '=', boxId).executeTakeFirst()
  return { slug, holder: other?.holder ?? 'another action', until: other?.until }
}

/** Gives the box back. A hold that somebody else took over meanwhile is left alone. */
export const releaseHold = (tx: Tx, hold: Held): Promise<void> => releaseHolds(tx, [hold])

type Held = Pick<BoxHold, 'boxId' | 'holder'>

export async function releaseHolds(tx: Tx, holds: readonly Held[]): Promise<void> {
  if (holds.length === 0) return
  await tx
    .deleteFrom('box_holds')
    .where((where) => where.or(holds.map(({ boxId, holder }) => where.and([where('box_id', '=', boxId), where('holder', '=', holder)]))))
    .execute()
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
