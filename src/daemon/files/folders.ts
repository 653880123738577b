import type { Folder } from '../../core/files/index.ts'
import { type Clock, isoIn, isoNow, newId, plural, problem, type Random } from '../../core/kit/index.ts'
import type { PlatformPrincipal } from '../../core/sessions/index.ts'
import type { Db, Tx } from '../db/index.ts'
import { openSpace, recordInSpace } from '../spaces/index.ts'

type Needs = Readonly<{ db: Db; clock: Clock; random: Random }>
type OfSpace = Readonly<{ spaceId: string }>
type Page = OfSpace & Readonly<{ cursor?: string | undefined; limit: number }>

/** A page of folders by id. Throws NOT_FOUND to whoever is no member, like all that follows. */
export async function listFolders({ db }: Pick<Needs, 'db'>, actor: PlatformPrincipal, { spaceId, cursor = '', limit }: Page) {
  const { space } = await openSpace(db, actor, { spaceId, right: 'enter' })
  const rows = await db
    .selectFrom('folders')
    .selectAll()
    .where('space_id', '=', space.id)
    .where('tenant_id', '=', actor.tenantId)
    .where('id', '>', cursor)
    .orderBy('id')
    .limit(limit + 1)
    .execute()
  const folders: Folder[] = rows
    .slice(0, limit)
    .map(({ id, name, created_by, created_at }) => ({ id, spaceId, name, createdBy: created_by, createdAt: created_at }))
  return { folders, nextCursor: rows.length > limit ? (folders.at(-1)?.id ?? null) : null }
}

/** Throws ALREADY_EXISTS. */
export const createFolder = (
  { db, clock, random }: Needs,
  actor: PlatformPrincipal,
  { spaceId, name }: OfSpace & Readonly<{ name: string }>,
): Promise<Folder> =>
  db.transaction().execute(async (tx) => {
    const { space } = await openSpace(tx, actor, { spaceId, right: 'enter' })
    const made: Folder = { id: newId(random, 'fld'), spaceId, name, createdBy: actor.userId, createdAt: isoNow(clock) }
    if (!(await insertFolder(tx, actor.tenantId, made))) throw problem('ALREADY_EXISTS', `${space.name} has a folder ${name}`)
    await recordInSpace(tx, clock, { space, type: 'folder.created', payload: { folderId: made.id, spaceId }, actorId: actor.userId })
    return made
  })

async function insertFolder(tx: Tx, tenantId: string, { id, spaceId, name, createdBy, createdAt }: Folder): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('folders')
    .values({ id, tenant_id: tenantId, space_id: spaceId, name, created_by: createdBy, created_at: createdAt })
    .onConflict((c) => c.columns(['space_id', 'name']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Throws NOT_FOUND (space, folder), FORBIDDEN to a member who neither made it nor manages the space. */
export const deleteFolder = (
  { db, clock }: Omit<Needs, 'random'>,
  actor: PlatformPrincipal,
  { spaceId, folderId }: OfSpace & Readonly<{ folderId: string }>,
): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { space, rights } = await openSpace(tx, actor, { spaceId, right: 'enter' })
    const folder = await tx
      .selectFrom('folders')
      .select(['name', 'created_by'])
      .where('id', '=', folderId)
      .where('space_id', '=', spaceId)
      .where('tenant_id', '=', actor.tenantId)
      .executeTakeFirst()
    if (!folder) throw noSuchFolder(folderId)
    if (folder.created_by !== actor.userId && !rights.manage)
      throw problem('FORBIDDEN', `${folder.name} was made by somebody else: ask them, or an owner of ${space.name}`)
    const { numDeletedRows } = await tx.deleteFrom('folders').where('id', '=', folderId).executeTakeFirst()
    if (numDeletedRows === 0n) throw noSuchFolder(folderId) // somebody else was faster
    await recordInSpace(tx, clock, { space, type: 'folder.deleted', payload: { folderId, spaceId }, actorId: actor.userId })
  })

const noSuchFolder = (folderId: string) => problem('NOT_FOUND', `there is no folder ${folderId} in this space`)

/** As files of a deleted space. */
const keptMs = 30 * 86_400_000

/** Deletes folders of spaces that were deleted 30 days ago. */
export async function forgetFolders({ db, clock }: Omit<Needs, 'random'>): Promise<string> {
  const deleted = db.selectFrom('spaces').select('id').where('deleted_at', '<=', isoIn(clock, -keptMs))
  const { numDeletedRows } = await db.deleteFrom('folders').where('space_id', 'in', deleted).executeTakeFirst()
  return plural(Number(numDeletedRows), 'folder')
}
