import type { File } from '../../core/files/index.ts'
import { isoIn, isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { openSpace, recordInSpace } from '../spaces/index.ts'
import { type FilesDeps, keptDeletedMs, type OneFile } from './deps.ts'
import { eraseSoon } from './erase-file.ts'
import { changeFileRow, type FileRecord, findFile } from './files.repo.ts'
import { lockFolder } from './folders.ts'
import { noSuchFile } from './show-files.ts'

type Deps = Pick<FilesDeps, 'db' | 'clock'>
type Changes = Readonly<{ name?: string | undefined; folderId?: string | null | undefined }>

/**
 * What is not named stays; what is so already is neither stored nor told. Throws NOT_FOUND (space, file, folder), FORBIDDEN to a member who neither
 * uploaded it nor manages the space.
 */
export const changeFile = (
  { db, clock }: Deps,
  actor: PlatformPrincipal,
  { spaceId, fileId, name, folderId }: OneFile & Changes,
): Promise<File> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    const { space, file } = await openFile(tx, actor, { spaceId, fileId }, ['ready'])
    if (folderId) await lockFolder(tx, { tenantId, spaceId, folderId })
    const changes = {
      ...(name === undefined || name === file.name ? {} : { name }),
      ...(folderId === undefined || folderId === file.folderId ? {} : { folder_id: folderId }),
    }
    if (Object.keys(changes).length === 0) return file
    if (!(await changeFileRow(tx, { id: fileId, from: 'ready' }, { ...changes, updated_at: isoNow(clock) }))) throw noSuchFile(fileId)
    const payload = { fileId, spaceId, folderId: folderId === undefined ? file.folderId : folderId }
    await recordInSpace(tx, clock, { space, type: 'file.updated', payload, actorId: userId })
    return standing(tx, actor, { spaceId, fileId })
  })

/**
 * It can be restored for 30 days and takes its space until then, unless it goes for good: then at once, a deleted one too. Throws NOT_FOUND,
 * FORBIDDEN.
 */
export async function deleteFile(
  deps: Pick<FilesDeps, 'db' | 'clock' | 'log' | 'objects'>,
  actor: PlatformPrincipal,
  { spaceId, fileId, forGood }: OneFile & Readonly<{ forGood: boolean }>,
): Promise<void> {
  const { db, clock } = deps
  await db.transaction().execute(async (tx) => {
    const { space, file, state } = await openFile(tx, actor, { spaceId, fileId }, forGood ? ['ready', 'deleted'] : ['ready'])
    const at = isoNow(clock)
    const gone = forGood
      ? ({ state: 'erasing', erase_at: at } as const)
      : ({ state: 'deleted', erase_at: isoIn(clock, keptDeletedMs) } as const)
    if (!(await changeFileRow(tx, { id: fileId, from: state }, { ...gone, deleted_at: at, updated_at: at }))) throw noSuchFile(fileId)
    const payload = { fileId, spaceId, folderId: file.folderId, forGood }
    await recordInSpace(tx, clock, { space, type: 'file.deleted', payload, actorId: actor.userId })
  })
  if (forGood) await eraseSoon(deps, { id: fileId, tenantId: actor.tenantId })
}

/** Where its folder is gone it is in none. Again changes nothing. Throws NOT_FOUND, FORBIDDEN. */
export const restoreFile = ({ db, clock }: Deps, actor: PlatformPrincipal, { spaceId, fileId }: OneFile): Promise<File> =>
  db.transaction().execute(async (tx) => {
    const { space, file, state } = await openFile(tx, actor, { spaceId, fileId }, ['ready', 'deleted'])
    if (state === 'ready') return file
    const back = { state: 'ready', deleted_at: null, erase_at: null, updated_at: isoNow(clock) } as const
    if (!(await changeFileRow(tx, { id: fileId, from: 'deleted' }, back))) throw noSuchFile(fileId)
    const payload = { fileId, spaceId, folderId: file.folderId }
    await recordInSpace(tx, clock, { space, type: 'file.created', payload, actorId: actor.userId })
    return standing(tx, actor, { spaceId, fileId })
  })

/** A file that the caller may change. */
async function openFile(tx: Tx, actor: PlatformPrincipal, { spaceId, fileId }: OneFile, states: readonly FileRecord['state'][]) {
  const { space, rights } = await openSpace(tx, actor, { spaceId, right: 'enter' })
  const found = await findFile(tx, { tenantId: actor.tenantId, spaceId, fileId })
  if (!found || !states.includes(found.state)) throw noSuchFile(fileId)
  if (found.file.createdBy !== actor.userId && !rights.manage)
    throw problem('FORBIDDEN', `${found.file.name} was uploaded by somebody else: ask them, or an owner of ${space.name}`)
  return { space, ...found }
}

async function standing(tx: Tx, { tenantId }: PlatformPrincipal, { spaceId, fileId }: OneFile): Promise<File> {
  const found = await findFile(tx, { tenantId, spaceId, fileId })
  if (!found) throw noSuchFile(fileId)
  return found.file
}
