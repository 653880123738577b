import { type Actor, isoNow, newId, type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import type { NewRating, Rating } from '../../../core/store/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import type { StoreDeps } from './deps.ts'
import type { StoreRatingTable } from './store.tables.ts'

const maxShown = 20

const ratingOf = ({ id, rating, comment, created_at }: StoreRatingTable): Rating => ({ id, rating, comment, createdAt: created_at })

export async function newestRatings(db: DbOrTx, moduleId: string): Promise<Rating[]> {
  const rows = await db
    .selectFrom('store_ratings')
    .selectAll()
    .where('module_id', '=', moduleId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(maxShown)
    .execute()
  return rows.map(ratingOf)
}

/** Stores or replaces the rating of a user. Throws NOT_FOUND for an unknown module, FORBIDDEN unless the tenant has it installed. */
export const rateModule = (
  { db, clock, random }: Pick<StoreDeps, 'db' | 'clock' | 'random'>,
  actor: PlatformPrincipal,
  { moduleId, rating, comment = '' }: NewRating & Readonly<{ moduleId: string }>,
): Promise<Rating> =>
  db.transaction().execute(async (tx) => {
    const known = await tx.selectFrom('store_modules').select('id').where('id', '=', moduleId).executeTakeFirst()
    if (!known) throw problem('NOT_FOUND', `The store has no module ${moduleId}. fix: list its modules with GET …/store/modules`)
    const installed = await tx
      .selectFrom('module_installations')
      .select('status')
      .where('module_id', '=', moduleId)
      .where('tenant_id', '=', actor.tenantId)
      .where('status', '!=', 'deleted')
      .executeTakeFirst()
    if (!installed) throw problem('FORBIDDEN', `${moduleId} is not installed in your organisation. fix: rate it once it is installed`)
    const change = { rating, comment: comment === '' ? null : comment, created_at: isoNow(clock) }
    const row = await tx
      .insertInto('store_ratings')
      .values({ id: newId(random, 'rat'), module_id: moduleId, user_id: actor.userId, tenant_id: actor.tenantId, ...change })
      .onConflict((conflict) => conflict.columns(['module_id', 'user_id']).doUpdateSet(change))
      .returningAll()
      .executeTakeFirstOrThrow()
    return ratingOf(row)
  })

/** Removes the comment of a rating; again changes nothing. Throws NOT_FOUND. */
export const removeRatingComment = ({ db, clock }: Pick<StoreDeps, 'db' | 'clock'>, actor: Actor, id: string): Promise<undefined> =>
  db.transaction().execute(async (tx) => {
    const row = await tx.selectFrom('store_ratings').select(['module_id', 'comment']).where('id', '=', id).executeTakeFirst()
    if (!row) throw problem('NOT_FOUND', `Rating ${id} does not exist. fix: GET …/store/modules/<module> lists the last ratings with ids`)
    if (row.comment === null) return undefined
    await tx.updateTable('store_ratings').set({ comment: null }).where('id', '=', id).execute()
    await recordAudit(tx, clock, { actor, action: 'store.comment-removed', subject: row.module_id, data: { ratingId: id } })
    return undefined
  })
