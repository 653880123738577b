import type { z } from 'zod'
import {
  bytesToReserve,
  declaredType,
  type File,
  headBytes,
  inlineType,
  quotaExceeded,
  safeFileName,
  type UploadFields,
} from '../../core/files/index.ts'
import { isoIn, isoNow, newId, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { FilePart, Upload } from '../http/index.ts'
import type { Kept } from '../objects/index.ts'
import { authorizeSpace, recordInSpace } from '../spaces/index.ts'
import type { FilesDeps, OfSpace } from './deps.ts'
import { discardUpload } from './erase-files.ts'
import { addUsage, changeFileRow, findFile, insertUpload, lockUsage, objectKey, planOf } from './files.repo.ts'
import { lockFolder } from './folders.ts'

type Fields = z.output<typeof UploadFields>
type Sent = OfSpace & Readonly<{ upload: Upload<Fields> }>
/** An upload before its first byte. `used` includes its own reservation. */
type ReservedUpload = Readonly<{ id: string; tenantId: string; reserved: number; used: number; limit: number }>
type Received = Kept & Readonly<{ part: Pick<FilePart, 'fileName' | 'contentType'>; shownAs: string | null }>

/** An unfinished upload of this age belongs to a dead process, and `file-cleanup` erases it. */
export const unfinishedMs = 24 * 60 * 60_000

/**
 * Row, object, row: the first row reserves storage and names the object, so that a crash leaves nothing unknown. The file is visible after the last
 * commit. Throws NOT_FOUND (space, folder), QUOTA_EXCEEDED, OBJECT_STORE_UNAVAILABLE and the problems of the form.
 */
export async function uploadFile(deps: FilesDeps, actor: PlatformPrincipal, { spaceId, upload }: Sent): Promise<File> {
  const begun = await reserveUpload(deps, actor, { spaceId, size: upload.bytes })
  try {
    const { fields, taken } = await upload.receive((part) => storeContent(deps, begun, part))
    return await finishUpload(deps, actor, { spaceId, begun, fields, received: taken })
  } catch (error) {
    await discardUpload(deps, { ...begun, objectId: begun.id })
    throw error
  }
}

const reserveUpload = (
  { db, clock, random, quotas }: FilesDeps,
  actor: PlatformPrincipal,
  { spaceId, size }: OfSpace & Readonly<{ size: Upload['bytes'] }>,
): Promise<ReservedUpload> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    await authorizeSpace(tx, actor, { spaceId, right: 'enter' })
    const limit = quotas[await planOf(tx, tenantId)]
    const used = await lockUsage(tx, tenantId)
    const reserved = bytesToReserve({ used, limit }, size)
    const id = newId(random, 'fil')
    const times = { at: isoNow(clock), eraseAt: isoIn(clock, unfinishedMs) }
    await insertUpload(tx, { id, tenantId, spaceId, bytes: reserved, createdBy: userId, ...times })
    await addUsage(tx, tenantId, reserved)
    return { id, tenantId, reserved, used: used + reserved, limit }
  })

/** Stores at most the reserved bytes. */
async function storeContent(
  { objects }: FilesDeps,
  begun: ReservedUpload,
  { fileName, contentType, content }: FilePart,
): Promise<Received> {
  let [head, bytes] = [Buffer.alloc(0), 0]
  async function* watched() {
    for await (const chunk of content) {
      bytes += chunk.length
      if (bytes > begun.reserved) throw quotaExceeded(begun)
      if (head.length < headBytes) head = Buffer.concat([head, chunk.subarray(0, headBytes)])
      yield chunk
    }
  }
  const kept = await objects.put(objectKey({ tenantId: begun.tenantId, objectId: begun.id }), watched())
  return { ...kept, part: { fileName, contentType }, shownAs: inlineType(head) }
}

type Settled = OfSpace & Readonly<{ begun: ReservedUpload; fields: Fields; received: Received }>

/** Fails if the user left the space or the folder was deleted during the upload. */
const finishUpload = (
  { db, clock }: FilesDeps,
  actor: PlatformPrincipal,
  { spaceId, begun, fields, received: { part, shownAs, bytes, sha256 } }: Settled,
): Promise<File> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    const { id, reserved } = begun
    const { space } = await authorizeSpace(tx, actor, { spaceId, right: 'enter' })
    const { name = safeFileName(part.fileName), folderId = null } = fields
    if (folderId !== null) await lockFolder(tx, { tenantId, spaceId, folderId })
    const at = isoNow(clock)
    const known = { name, folder_id: folderId, content_type: declaredType(part.contentType), shown_as: shownAs, bytes, sha256 }
    const times = { created_at: at, updated_at: at, erase_at: null }
    if (!(await changeFileRow(tx, { id, from: 'uploading' }, { ...known, ...times, state: 'ready' }))) throw uploadExpired()
    await addUsage(tx, tenantId, bytes - reserved)
    await recordInSpace(tx, clock, { space, type: 'file.created', payload: { fileId: id, spaceId, folderId }, actorId: userId })
    const made = await findFile(tx, { tenantId, spaceId, fileId: id })
    if (!made) throw uploadExpired()
    return made.file
  })

const uploadExpired = () => problem('CONFLICT', 'The upload took too long and was cancelled. fix: send the file again')

type Sender = Readonly<{ userId: string; tenantId: string }>
type Limits = Readonly<{ user: number; tenant: number; all: number }>

/** A running upload holds a connection, and part of a file in memory, for as long as its client takes. */
const defaultLimits: Limits = { user: 4, tenant: 32, all: 64 }

/**
 * Limits concurrent uploads, so that neither one user nor one tenant can block a daemon with slow uploads. Throws RATE_LIMITED, or UNAVAILABLE at
 * the limit of all users.
 */
export function uploadLimiter(max: Limits = defaultLimits) {
  const busy = new Map<string, number>()
  const count = (key: string) => busy.get(key) ?? 0
  const add = (keys: readonly string[], by: 1 | -1) => {
    for (const key of keys) {
      const now = count(key) + by
      if (now === 0) busy.delete(key)
      else busy.set(key, now)
    }
  }
  return async <T>({ userId, tenantId }: Sender, upload: () => Promise<T>): Promise<T> => {
    if (count(userId) >= max.user) throw tooManyUploads(`You have ${max.user} running uploads. fix: wait until one finishes`)
    if (count(tenantId) >= max.tenant)
      throw tooManyUploads(`Your organisation has ${max.tenant} running uploads. fix: try again in a few seconds`)
    if (count('all') >= max.all)
      throw problem('UNAVAILABLE', 'Too many running uploads. fix: try again in a few seconds', { retryAfterSeconds: 5 })
    const keys = [userId, tenantId, 'all']
    add(keys, 1)
    try {
      return await upload()
    } finally {
      add(keys, -1)
    }
  }
}

const tooManyUploads = (message: string) => problem('RATE_LIMITED', message, { retryAfterSeconds: 5 })
