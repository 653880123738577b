import type { File } from '../../core/files/index.ts'
import { isoIn, isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { authorizeSpace, recordInSpace } from '../spaces/index.ts'
import { deletedRetentionMs, type FilesDeps, type OneFile } from './deps.ts'
import { eraseNow } from './erase-files.ts'
import { changeFileRow, type FileRecord, findFile } from './files.repo.ts'
import { lockFolder } from './folders.ts'
import { fileNotFound } from './show-files.ts'

type Deps = Pick<FilesDeps, 'db' | 'clock'>
type Changes = Readonly<{ name?: string | undefined; folderId?: string | null | undefined }>

/**
 * Changes name or folder; unchanged values are neither stored nor published. Throws NOT_FOUND (space, file, folder), FORBIDDEN to members who
 * neither uploaded the file nor manage the space.
 */
export const changeFile = (
  { db, clock }: Deps,
  actor: PlatformPrincipal,
  { spaceId, fileId, name, folderId }: OneFile & Changes,
): Promise<File> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    const { space, file } = await openFile(tx, actor, { spaceId, fileId, states: ['ready'] })
    if (folderId) await lockFolder(tx, { tenantId, spaceId, folderId })
    const changes = {
      ...(name === undefined || name === file.name ? {} : { name }),
      ...(folderId === undefined || folderId === file.folderId ? {} : { folder_id: folderId }),
    }
    if (Object.keys(changes).length === 0) return file
    if (!(await changeFileRow(tx, { id: fileId, from: 'ready' }, { ...changes, updated_at: isoNow(clock) }))) throw fileNotFound(fileId)
    const payload = { fileId, spaceId, folderId: folderId === undefined ? file.folderId : folderId }
    await recordInSpace(tx, clock, { space, type: 'file.updated', payload, actorId: userId })
    return readyFile(tx, actor, { spaceId, fileId })
  })

/**
 * Deletes a file. It can be restored for 30 days and counts towards the quota until then. `forGood` erases it at once, also if it was deleted
 * before. Throws NOT_FOUND, FORBIDDEN.
 */
export async function deleteFile(
  deps: Pick<FilesDeps, 'db' | 'clock' | 'log' | 'objects'>,
  actor: PlatformPrincipal,
  { spaceId, fileId, forGood }: OneFile & Readonly<{ forGood: boolean }>,
): Promise<void> {
  const { db, clock } = deps
  const objectId = await db.transaction().execute(async (tx) => {
    const { space, file, objectId, state } = await openFile(tx, actor, {
      spaceId,
      fileId,
      states: forGood ? ['ready', 'deleted'] : ['ready'],
    })
    const at = isoNow(clock)
    const gone = forGood
      ? ({ state: 'erasing', erase_at: at } as const)
      : ({ state: 'deleted', erase_at: isoIn(clock, deletedRetentionMs) } as const)
    if (!(await changeFileRow(tx, { id: fileId, from: state }, { ...gone, deleted_at: at, updated_at: at }))) throw fileNotFound(fileId)
    const payload = { fileId, spaceId, folderId: file.folderId, forGood }
    await recordInSpace(tx, clock, { space, type: 'file.deleted', payload, actorId: actor.userId })
    return objectId
  })
  if (forGood) await eraseNow(deps, { id: fileId, tenantId: actor.tenantId, objectId })
}

/** Restores a deleted file, outside folders if its folder is gone. Idempotent. Throws NOT_FOUND, FORBIDDEN. */
export const restoreFile = ({ db, clock }: Deps, actor: PlatformPrincipal, { spaceId, fileId }: OneFile): Promise<File> =>
  db.transaction().execute(async (tx) => {
    const { space, file, state } = await openFile(tx, actor, { spaceId, fileId, states: ['ready', 'deleted'] })
    if (state === 'ready') return file
    const back = { state: 'ready', deleted_at: null, erase_at: null, updated_at: isoNow(clock) } as const
    if (!(await changeFileRow(tx, { id: fileId, from: 'deleted' }, back))) throw fileNotFound(fileId)
    const payload = { fileId, spaceId, folderId: file.folderId }
    await recordInSpace(tx, clock, { space, type: 'file.created', payload, actorId: actor.userId })
    return readyFile(tx, actor, { spaceId, fileId })
  })

type OpenFile = OneFile & Readonly<{ states: readonly FileRecord['state'][] }>

/** A file that the caller may change. */
async function openFile(tx: Tx, actor: PlatformPrincipal, { spaceId, fileId, states }: OpenFile) {
  const { space, rights } = await authorizeSpace(tx, actor, { spaceId, right: 'enter' })
  const found = await findFile(tx, { tenantId: actor.tenantId, spaceId, fileId })
  if (!found || !states.includes(found.state)) throw fileNotFound(fileId)
  if (found.file.createdBy !== actor.userId && !rights.manage)
    throw problem('FORBIDDEN', `${found.file.name} was uploaded by another user. fix: ask that user, or an owner of ${space.name}`)
  return { space, ...found }
}

async function readyFile(tx: Tx, { tenantId }: PlatformPrincipal, { spaceId, fileId }: OneFile): Promise<File> {
  const found = await findFile(tx, { tenantId, spaceId, fileId })
  if (!found) throw fileNotFound(fileId)
  return found.file
}
