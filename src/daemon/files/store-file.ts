import { bytesToReserve, declaredType, type File, inlineType, safeFileName } from '../../core/files/index.ts'
import { isoIn, isoNow, newId, problem, type TenantId } from '../../core/kit/index.ts'
import type { SpaceId } from '../../core/spaces/index.ts'
import type { Tx } from '../db/index.ts'
import { wholeContent } from '../objects/index.ts'
import { findSpace, recordInSpace } from '../spaces/index.ts'
import type { FilesDeps } from './deps.ts'
import { addUsage, changeFileRow, findFile, insertUpload, lockUsage, objectIdOf, objectKey, planOf } from './files.repo.ts'
import { unfinishedMs } from './upload-file.ts'

export type StoreDeps = Pick<FilesDeps, 'db' | 'clock' | 'random' | 'objects' | 'quotas'>

/** A file that the platform itself makes, such as a report. The caller chooses the id, so that a repeated call stores it once. */
type PlatformFile = Readonly<{
  id: string
  tenantId: string
  spaceId: string
  name: string
  contentType: string
  content: Buffer
  /** A user id, or the name of a part of the platform. */
  createdBy: string
  /** The run that made the file; its event names the run, so that triggers find loops. */
  runId?: string
  /** The number of runs that led to this one, if a module writes. */
  depth?: number
}>

/**
 * Stores a file in a space, on the quota of the tenant, and returns it. The same id again returns the stored file. Throws NOT_FOUND (space),
 * QUOTA_EXCEEDED, OBJECT_STORE_UNAVAILABLE, CONFLICT (an earlier attempt is being erased).
 */
export async function storeFile(deps: StoreDeps, file: PlatformFile): Promise<File> {
  const finishIn = await prepareFile(deps, file)
  return deps.db.transaction().execute(finishIn)
}

/**
 * Stores the bytes of a file and reserves their place on the quota. The file exists once the returned function ran in a transaction; if it never
 * does, the bytes are erased. Each attempt writes an object of its own: of two at once, the one that finishes first is the file. Throws as
 * `storeFile`.
 */
export async function prepareFile(deps: StoreDeps, file: PlatformFile): Promise<(tx: Tx) => Promise<File>> {
  const objectId = newId(deps.random, 'fil')
  const stored = await deps.db.transaction().execute((tx) => reserve(deps, tx, { ...file, objectId }))
  if (stored) return async () => stored
  const { sha256 } = await deps.objects.put(objectKey({ tenantId: file.tenantId, objectId }), wholeContent(file.content))
  return (tx) => finish(deps, tx, { ...file, objectId, sha256 })
}

type Attempt = PlatformFile & Readonly<{ objectId: string }>

/** Returns the file if it is stored. An unfinished attempt, which may still write, is replaced. */
async function reserve({ clock, random, quotas }: StoreDeps, tx: Tx, file: Attempt): Promise<File | undefined> {
  const { id, objectId, tenantId, spaceId, createdBy } = file
  const space = await findSpace(tx, { tenantId, spaceId })
  if (!space) throw problem('NOT_FOUND', `Space ${spaceId} does not exist`)
  let used = await lockUsage(tx, tenantId) // also serializes two calls with one id
  const earlier = await tx.selectFrom('files').select(['state', 'bytes', objectIdOf]).where('id', '=', id).executeTakeFirst()
  if (earlier && earlier.state !== 'uploading') return existing(tx, file)
  const times = { at: isoNow(clock), eraseAt: isoIn(clock, unfinishedMs) }
  if (earlier) {
    // Its object is erased once that attempt can write no more.
    const retired = { id: newId(random, 'fil'), object_id: earlier.objectId, bytes: 0, erase_at: times.eraseAt }
    await changeFileRow(tx, { id, from: 'uploading' }, { ...retired, state: 'erasing' })
    await addUsage(tx, tenantId, -earlier.bytes)
    used -= earlier.bytes
  }
  const limit = quotas[await planOf(tx, tenantId)]
  const bytes = bytesToReserve({ used, limit }, { least: file.content.length, most: file.content.length })
  await insertUpload(tx, { id, objectId, tenantId, spaceId, bytes, createdBy, ...times })
  await addUsage(tx, tenantId, bytes)
  return undefined
}

async function existing(tx: Tx, { id, tenantId, spaceId }: PlatformFile): Promise<File> {
  const found = await findFile(tx, { tenantId, spaceId, fileId: id })
  if (!found) throw problem('CONFLICT', `File ${id} is being erased. fix: try again with a new Idempotency-Key`)
  return found.file
}

async function finish({ clock }: StoreDeps, tx: Tx, file: Attempt & Readonly<{ sha256: string }>): Promise<File> {
  const { id, objectId, tenantId, spaceId, content, sha256 } = file
  await lockUsage(tx, tenantId)
  const row = await tx.selectFrom('files').select(['state', 'bytes', objectIdOf]).where('id', '=', id).executeTakeFirst()
  if (row?.state !== 'uploading') return existing(tx, file)
  if (row.objectId !== objectId)
    throw problem('UNAVAILABLE', `File ${id} is being stored by a later call. fix: try again in a few seconds`, { retryAfterSeconds: 5 })
  const at = isoNow(clock)
  const known = { name: safeFileName(file.name), content_type: declaredType(file.contentType), shown_as: inlineType(content), sha256 }
  const times = { created_at: at, updated_at: at, erase_at: null }
  await changeFileRow(tx, { id, from: 'uploading' }, { ...known, ...times, bytes: content.length, state: 'ready' })
  await addUsage(tx, tenantId, content.length - row.bytes)
  const payload = {
    fileId: id,
    spaceId,
    folderId: null,
    runId: file.runId ?? null,
    ...(file.depth === undefined ? {} : { depth: file.depth }),
  }
  const space = { id: spaceId as SpaceId, tenantId: tenantId as TenantId }
  await recordInSpace(tx, clock, { space, type: 'file.created', payload, actorId: null })
  return existing(tx, file)
}
