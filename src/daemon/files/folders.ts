import { pageOf } from '../../core/contract/index.ts'
import type { Folder } from '../../core/files/index.ts'
import { type Clock, isoIn, isoNow, newId, type PlatformPrincipal, plural, problem, type Random } from '../../core/kit/index.ts'
import { type Db, forUpdate, type Tx } from '../db/index.ts'
import { authorizeSpace, recordInSpace } from '../spaces/index.ts'
import { deletedRetentionMs, type OfSpace } from './deps.ts'

type Deps = Readonly<{ db: Db; clock: Clock; random: Random }>
type Page = OfSpace & Readonly<{ cursor?: string | undefined; limit: number }>

/** A page of folders by id. Throws NOT_FOUND to non-members. */
export async function listFolders({ db }: Pick<Deps, 'db'>, actor: PlatformPrincipal, { spaceId, cursor = '', limit }: Page) {
  const { space } = await authorizeSpace(db, actor, { spaceId, right: 'enter' })
  const rows = await db
    .selectFrom('folders')
    .selectAll()
    .where('space_id', '=', space.id)
    .where('tenant_id', '=', actor.tenantId)
    .where('id', '>', cursor)
    .orderBy('id')
    .limit(limit + 1)
    .execute()
  const { page, nextCursor } = pageOf(rows, limit, ({ id }) => id)
  const folders: Folder[] = page.map(({ id, name, created_by, created_at }) => ({
    ...{ id, spaceId, name, createdBy: created_by, createdAt: created_at },
  }))
  return { folders, nextCursor }
}

/** Throws NOT_FOUND to non-members, ALREADY_EXISTS. */
export const createFolder = (
  { db, clock, random }: Deps,
  actor: PlatformPrincipal,
  { spaceId, name }: OfSpace & Readonly<{ name: string }>,
): Promise<Folder> =>
  db.transaction().execute(async (tx) => {
    const { space } = await authorizeSpace(tx, actor, { spaceId, right: 'enter' })
    const made: Folder = { id: newId(random, 'fld'), spaceId, name, createdBy: actor.userId, createdAt: isoNow(clock) }
    if (!(await insertFolder(tx, actor.tenantId, made))) throw problem('ALREADY_EXISTS', `Folder ${name} already exists in ${space.name}`)
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

/**
 * Deletes a folder and its files. Its files can be restored, outside folders. Throws NOT_FOUND (space, folder), FORBIDDEN to members who neither
 * manage the space nor created all of it.
 */
export const deleteFolder = (
  { db, clock }: Omit<Deps, 'random'>,
  actor: PlatformPrincipal,
  { spaceId, folderId }: OfSpace & Readonly<{ folderId: string }>,
): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    const { space, rights } = await authorizeSpace(tx, actor, { spaceId, right: 'enter' })
    const folder = await lockFolder(tx, { tenantId, spaceId, folderId })
    const mine = folder.created_by === userId && !(await holdsFilesOfOthers(tx, { folderId, userId }))
    if (!mine && !rights.manage)
      throw problem(
        'FORBIDDEN',
        `${folder.name}, or a file in it, belongs to another user. fix: ask that user, or an owner of ${space.name}`,
      )
    await deleteFilesOf(tx, clock, folderId)
    await tx.deleteFrom('folders').where('id', '=', folderId).execute()
    await recordInSpace(tx, clock, { space, type: 'folder.deleted', payload: { folderId, spaceId }, actorId: userId })
  })

/** Locks a folder until the transaction ends, so that no file is added to a deleted folder. Throws NOT_FOUND. */
export async function lockFolder(tx: Tx, { tenantId, spaceId, folderId }: OfSpace & Readonly<{ tenantId: string; folderId: string }>) {
  const one = tx
    .selectFrom('folders')
    .select(['name', 'created_by'])
    .where('id', '=', folderId)
    .where('space_id', '=', spaceId)
    .where('tenant_id', '=', tenantId)
  const folder = await one.modifyEnd(forUpdate(tx)).executeTakeFirst()
  if (!folder) throw folderNotFound(folderId)
  return folder
}

async function holdsFilesOfOthers(tx: Tx, { folderId, userId }: Readonly<{ folderId: string; userId: string }>): Promise<boolean> {
  const others = tx.selectFrom('files').select('id').where('folder_id', '=', folderId).where('state', '=', 'ready')
  return (await others.where('created_by', '!=', userId).limit(1).executeTakeFirst()) !== undefined
}

async function deleteFilesOf(tx: Tx, clock: Clock, folderId: string): Promise<void> {
  const at = isoNow(clock)
  const gone = { state: 'deleted', deleted_at: at, updated_at: at, erase_at: isoIn(clock, deletedRetentionMs) } as const
  await tx.updateTable('files').set(gone).where('folder_id', '=', folderId).where('state', '=', 'ready').execute()
  await tx.updateTable('files').set({ folder_id: null }).where('folder_id', '=', folderId).execute()
}

const folderNotFound = (folderId: string) => problem('NOT_FOUND', `Folder ${folderId} does not exist in this space`)

/** Deletes folders of spaces that were deleted 30 days ago. Returns a summary. */
export async function deleteOldFolders({ db, clock }: Omit<Deps, 'random'>): Promise<string> {
  const deleted = db.selectFrom('spaces').select('id').where('deleted_at', '<=', isoIn(clock, -deletedRetentionMs))
  const { numDeletedRows } = await db.deleteFrom('folders').where('space_id', 'in', deleted).executeTakeFirst()
  return plural(Number(numDeletedRows), 'folder')
}
