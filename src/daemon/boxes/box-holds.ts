import { sql } from 'kysely'
import { type BoxId, boxHeld } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

/** A long-lived reservation of a box, by a rollout action, a rollback, a move, a removal, a restore, a restart or maintenance. */
export type BoxHold = Readonly<{ boxId: BoxId; holder: string; until: string }>

/** Begins the owner of the hold of a restart. */
export const restartPrefix = 'restart:'

/** True while an operator restarts or imports the box: its reports may say that services are stopped. */
export const isRestart = (hold: Pick<BoxHold, 'holder'> | undefined): boolean =>
  (hold?.holder.startsWith(restartPrefix) || hold?.holder.startsWith(importPrefix)) ?? false

/** Begins the owner of the hold of an import. */
const importPrefix = 'import:'

/** Takes or extends a hold. Throws BOX_HELD with the current owner. */
export async function holdBox(tx: Tx, clock: Clock, { boxId, holder, until }: BoxHold): Promise<void> {
  const { rows } = await sql`
    insert into box_holds (box_id, holder, until) values (${boxId}, ${holder}, ${until})
    on conflict (box_id) do update set holder = excluded.holder, until = excluded.until
    where box_holds.holder = excluded.holder or box_holds.until <= ${isoNow(clock)}
    returning box_id`.execute(tx)
  if (rows.length === 0) throw boxHeld(await currentHold(tx, boxId))
}

/** The current hold; its owner is unknown when it was released meanwhile. */
async function currentHold(tx: Tx, boxId: BoxId): Promise<Parameters<typeof boxHeld>[0]> {
  const { slug } = await tx.selectFrom('boxes').select('slug').where('id', '=', boxId).executeTakeFirstOrThrow()
  const other = await tx.selectFrom('box_holds').selectAll().where('box_id', '=', boxId).executeTakeFirst()
  return { slug, holder: other?.holder ?? 'another action', until: other?.until }
}

/** Releases a hold. The hold of another owner is not changed. */
export async function releaseHold(tx: Tx, { boxId, holder }: Pick<BoxHold, 'boxId' | 'holder'>): Promise<void> {
  await tx.deleteFrom('box_holds').where('box_id', '=', boxId).where('holder', '=', holder).execute()
}

/** Active holds of live boxes by slug, without those of the owner `except`. */
export async function holdsBySlug(db: DbOrTx, clock: Clock, except = ''): Promise<ReadonlyMap<string, BoxHold>> {
  const rows = await db
    .selectFrom('box_holds')
    .crossJoin('boxes') // in this order: there are few holds and thousands of boxes
    .whereRef('boxes.id', '=', 'box_holds.box_id')
    .select(['boxes.slug', 'box_holds.box_id', 'box_holds.holder', 'box_holds.until'])
    .where('boxes.live', '=', 1)
    .where('box_holds.until', '>', isoNow(clock))
    .where('box_holds.holder', '<>', except)
    .execute()
  return new Map(rows.map(({ slug, box_id, holder, until }) => [slug, { boxId: box_id as BoxId, holder, until }]))
}

/** Active holds by box. */
export async function holdsOf(db: DbOrTx, clock: Clock, boxIds?: readonly BoxId[]): Promise<ReadonlyMap<BoxId, BoxHold>> {
  let query = db.selectFrom('box_holds').selectAll().where('until', '>', isoNow(clock))
  if (boxIds) query = query.where('box_id', 'in', boxIds.length > 0 ? [...boxIds] : [''])
  const holds = (await query.execute()).map(({ box_id, holder, until }) => ({ boxId: box_id as BoxId, holder, until }))
  return new Map(holds.map((hold) => [hold.boxId, hold]))
}

/** The end of a hold that does not expire. */
export const noExpiry = '9999-12-31T23:59:59.999Z'
