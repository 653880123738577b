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
import { openSpace, recordInSpace } from '../spaces/index.ts'
import type { FilesDeps, OfSpace } from './deps.ts'
import { clearUpload } from './erase-file.ts'
import { changeFileRow, findFile, insertUpload, objectKey } from './files.repo.ts'
import { lockFolder } from './folders.ts'
import { addUsage, lockUsage, planOf } from './usage.repo.ts'

type Fields = z.output<typeof UploadFields>
type Sent = OfSpace & Readonly<{ upload: Upload<Fields> }>
/** What stands before the first byte is read. `used` counts what it reserved itself. */
type Begun = Readonly<{ id: string; tenantId: string; reserved: number; used: number; limit: number }>
type Received = Kept & Readonly<{ part: Pick<FilePart, 'fileName' | 'contentType'>; shownAs: string | null }>

/** An upload that is not settled by then was killed: `file-cleanup` takes it away. */
const unfinishedMs = 24 * 60 * 60_000

/**
 * Row, object, row: the first row reserves the space and names the object, so that whatever is killed in between is found and taken away; the
 * file is there for others once the last commit stands. Throws NOT_FOUND (space, folder), QUOTA_EXCEEDED, OBJECT_STORE_UNAVAILABLE and what the
 * form is refused with.
 */
export async function uploadFile(deps: FilesDeps, actor: PlatformPrincipal, { spaceId, upload }: Sent): Promise<File> {
  const begun = await begin(deps, actor, { spaceId, size: upload.bytes })
  try {
    const { fields, taken } = await upload.receive((part) => keep(deps, begun, part))
    return await settle(deps, actor, { spaceId, begun, fields, received: taken })
  } catch (error) {
    await clearUpload(deps, begun)
    throw error
  }
}

const begin = (
  { db, clock, random, quotas }: FilesDeps,
  actor: PlatformPrincipal,
  { spaceId, size }: OfSpace & Readonly<{ size: Upload['bytes'] }>,
): Promise<Begun> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    await openSpace(tx, actor, { spaceId, right: 'enter' })
    const limit = quotas[await planOf(tx, tenantId)]
    const used = await lockUsage(tx, tenantId)
    const reserved = bytesToReserve({ used, limit }, size)
    const id = newId(random, 'fil')
    const times = { at: isoNow(clock), eraseAt: isoIn(clock, unfinishedMs) }
    await insertUpload(tx, { id, tenantId, spaceId, bytes: reserved, createdBy: userId, ...times })
    await addUsage(tx, tenantId, reserved)
    return { id, tenantId, reserved, used: used + reserved, limit }
  })

/** Keeps the bytes, no more than were reserved. */
async function keep({ objects }: FilesDeps, begun: Begun, { fileName, contentType, content }: FilePart): Promise<Received> {
  let [head, bytes] = [Buffer.alloc(0), 0]
  async function* watched() {
    for await (const chunk of content) {
      bytes += chunk.length
      if (bytes > begun.reserved) throw quotaExceeded(begun)
      if (head.length < headBytes) head = Buffer.concat([head, chunk.subarray(0, headBytes)])
      yield chunk
    }
  }
  const kept = await objects.put(objectKey(begun), watched())
  return { ...kept, part: { fileName, contentType }, shownAs: inlineType(head) }
}

type Settled = OfSpace & Readonly<{ begun: Begun; fields: Fields; received: Received }>

/** Who was put out of the space meanwhile, or whose folder went, leaves nothing there. */
const settle = (
  { db, clock }: FilesDeps,
  actor: PlatformPrincipal,
  { spaceId, begun, fields, received: { part, shownAs, bytes, sha256 } }: Settled,
): Promise<File> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    const { id, reserved } = begun
    const { space } = await openSpace(tx, actor, { spaceId, right: 'enter' })
    const { name = safeFileName(part.fileName), folderId = null } = fields
    if (folderId !== null) await lockFolder(tx, { tenantId, spaceId, folderId })
    const at = isoNow(clock)
    const known = { name, folder_id: folderId, content_type: declaredType(part.contentType), shown_as: shownAs, bytes, sha256 }
    const times = { created_at: at, updated_at: at, erase_at: null }
    if (!(await changeFileRow(tx, { id, from: 'uploading' }, { ...known, ...times, state: 'ready' }))) throw tookTooLong()
    await addUsage(tx, tenantId, bytes - reserved)
    await recordInSpace(tx, clock, { space, type: 'file.created', payload: { fileId: id, spaceId, folderId }, actorId: userId })
    const made = await findFile(tx, { tenantId, spaceId, fileId: id })
    if (!made) throw tookTooLong()
    return made.file
  })

const tookTooLong = () => problem('CONFLICT', 'the upload took so long that it was given up: send the file again')
