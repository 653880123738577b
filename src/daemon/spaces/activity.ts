import type { Expression, SqlBool } from 'kysely'
import { noSuchPage, pageOf } from '../../core/contract/index.ts'
import { type Audience, idsOf, type PayloadOf, type TenantEventType } from '../../core/events/index.ts'
import { type Clock, isoIn, isoNow, type PlatformPrincipal, plural } from '../../core/kit/index.ts'
import type { Activity } from '../../core/spaces/index.ts'
import { inBatches, type Tx } from '../db/index.ts'
import { recordEvents } from '../events/index.ts'
import type { SpacesDeps } from './deps.ts'
import { authorizeSpace } from './show-spaces.ts'
import type { SpaceRecord } from './spaces.repo.ts'

type OfSpace = Readonly<{
  space: Pick<SpaceRecord, 'id' | 'tenantId'>
  /** The acting user; null: the platform. */
  actorId: string | null
}>

type SpaceEvent<Type extends TenantEventType> = Readonly<{ type: Type; payload: PayloadOf<Type>; audience?: Audience }>

/** Records an event of a space, for the event stream and the space's activity. The default audience is its members. */
export const recordInSpace = <Type extends TenantEventType>(
  tx: Tx,
  clock: Clock,
  { space, actorId, ...event }: OfSpace & SpaceEvent<Type>,
): Promise<void> => recordAllInSpace<Type>(tx, clock, { space, actorId, all: [event] })

/** Records several events in their order. `all` must not be empty. */
export async function recordAllInSpace<Type extends TenantEventType>(
  tx: Tx,
  clock: Clock,
  { space, actorId, all }: OfSpace & Readonly<{ all: readonly SpaceEvent<Type>[] }>,
): Promise<void> {
  const { id, tenantId } = space
  const events = all.map(({ audience = { spaces: [id] }, ...event }) => ({ ...event, audience }))
  const first = (await recordEvents<Type>(tx, clock, { tenantId, events })) - all.length + 1
  const shared = { space_id: id, tenant_id: tenantId, actor_id: actorId, at: isoNow(clock) }
  const rows = all.map(({ type, payload }, n) => ({ ...shared, seq: first + n, type, ids: JSON.stringify(idsOf(type, payload)) }))
  for (const batch of inBatches(rows)) await tx.insertInto('space_activity').values(batch).execute()
}

/** The audience of users who can find the space. */
export const findersOf = ({ id, visibility }: Pick<SpaceRecord, 'id' | 'visibility'>): Audience =>
  visibility === 'PRIVATE' ? { spaces: [id] } : 'tenant'

type Page = Readonly<{ spaceId: string; cursor?: string | undefined; limit: number }>

/** A page of the space's activity, newest first. Throws NOT_FOUND to non-members, VALIDATION for an unknown cursor. */
export async function spaceActivity({ db }: Pick<SpacesDeps, 'db'>, actor: PlatformPrincipal, { spaceId, cursor, limit }: Page) {
  await authorizeSpace(db, actor, { spaceId, right: 'enter' })
  if (cursor !== undefined && !/^[0-9]{1,15}$/.test(cursor)) throw noSuchPage()
  let query = db.selectFrom('space_activity').selectAll().where('space_id', '=', spaceId).where('tenant_id', '=', actor.tenantId)
  if (cursor !== undefined) query = query.where('seq', '<', Number(cursor))
  const rows = await query
    .orderBy('seq', 'desc')
    .limit(limit + 1)
    .execute()
  const { page, nextCursor } = pageOf(rows, limit, ({ seq }) => String(seq))
  const activity: Activity[] = page.map(({ seq, at, type, actor_id, ids }) => ({
    ...{ id: String(seq), at, type, actorId: actor_id, ids: JSON.parse(ids) },
  }))
  return { activity, nextCursor }
}

/** Same as the retention of events. */
const retentionMs = 90 * 86_400_000
/** Rows of deleted spaces outlive every snapshot that could restore their rooms. */
const deletedRetentionMs = 400 * 86_400_000

type DeleteDeps = Pick<SpacesDeps, 'db' | 'clock'> & Readonly<{ isReferenced: Expression<SqlBool> }>

/** Deletes old activity, and rows of spaces deleted long ago that no other feature references. Returns a summary. */
export async function deleteOldSpaces({ db, clock, isReferenced }: DeleteDeps): Promise<string> {
  const { numDeletedRows } = await db.deleteFrom('space_activity').where('at', '<=', isoIn(clock, -retentionMs)).executeTakeFirst()
  await db
    .deleteFrom('spaces')
    .where('deleted_at', '<=', isoIn(clock, -deletedRetentionMs))
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('space_activity').select('seq').whereRef('space_activity.space_id', '=', 'spaces.id'))),
    )
    .where(({ not }) => not(isReferenced))
    .execute()
  return plural(Number(numDeletedRows), 'space activity entry', 'space activity entries')
}
