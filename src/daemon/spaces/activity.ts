import type { Expression, SqlBool } from 'kysely'
import { noSuchPage } from '../../core/contract/index.ts'
import { isoIn, type PlatformPrincipal, plural } from '../../core/kit/index.ts'
import type { Activity } from '../../core/spaces/index.ts'
import type { SpacesDeps } from './deps.ts'
import { openSpace } from './open-space.ts'

type Page = Readonly<{ spaceId: string; cursor?: string | undefined; limit: number }>

/** What happened in a space, newest first. Throws NOT_FOUND to whoever is no member, VALIDATION for a cursor that no page returned. */
export async function spaceActivity({ db }: Pick<SpacesDeps, 'db'>, actor: PlatformPrincipal, { spaceId, cursor, limit }: Page) {
  await openSpace(db, actor, { spaceId, right: 'enter' })
  if (cursor !== undefined && !/^[0-9]{1,15}$/.test(cursor)) throw noSuchPage()
  let query = db.selectFrom('space_activity').selectAll().where('space_id', '=', spaceId).where('tenant_id', '=', actor.tenantId)
  if (cursor !== undefined) query = query.where('seq', '<', Number(cursor))
  const rows = await query
    .orderBy('seq', 'desc')
    .limit(limit + 1)
    .execute()
  const activity: Activity[] = rows
    .slice(0, limit)
    .map(({ seq, at, type, actor_id, ids }) => ({ id: String(seq), at, type, actorId: actor_id, ids: JSON.parse(ids) }))
  return { activity, nextCursor: rows.length > limit ? (activity.at(-1)?.id ?? null) : null }
}

/** As long as events are kept. */
const keptMs = 90 * 86_400_000
/** Rows of deleted spaces: no snapshot that could bring their rooms back is as old. */
const keptDeletedMs = 400 * 86_400_000

type Forgetting = Pick<SpacesDeps, 'db' | 'clock'> & Readonly<{ stillNeeded: Expression<SqlBool> }>

/** Deletes old activity, and what is left of spaces that were deleted long ago and that nothing of another room still belongs to. */
export async function forgetSpaces({ db, clock, stillNeeded }: Forgetting): Promise<string> {
  const { numDeletedRows } = await db.deleteFrom('space_activity').where('at', '<=', isoIn(clock, -keptMs)).executeTakeFirst()
  await db
    .deleteFrom('spaces')
    .where('deleted_at', '<=', isoIn(clock, -keptDeletedMs))
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('space_activity').select('seq').whereRef('space_activity.space_id', '=', 'spaces.id'))),
    )
    .where(({ not }) => not(stillNeeded))
    .execute()
  return plural(Number(numDeletedRows), 'entry of the activity of spaces', 'entries of the activity of spaces')
}
