import { pageEnd, readPageEnd } from '../../core/contract/index.ts'
import type { File } from '../../core/files/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { FileBody } from '../http/index.ts'
import { openSpace } from '../spaces/index.ts'
import type { FilesDeps, OfSpace, OneFile } from './deps.ts'
import { filesAfter, findFile, objectKey } from './files.repo.ts'
import { insideOf } from './inside-of.ts'

type Wanted = OfSpace & Readonly<{ folderId?: string | undefined; deleted: boolean; cursor?: string | undefined; limit: number }>

/** A page of the files of a space, the newest first. Throws NOT_FOUND to whoever is no member, like all that follows; VALIDATION for the cursor. */
export async function listFiles(
  { db }: Pick<FilesDeps, 'db'>,
  actor: PlatformPrincipal,
  { spaceId, folderId, deleted, cursor, limit }: Wanted,
): Promise<{ files: File[]; nextCursor: string | null }> {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  await openSpace(db, actor, { spaceId, right: 'enter' })
  const place = { tenantId: actor.tenantId, spaceId, folderId, after }
  const found = await filesAfter(db, { ...place, state: deleted ? 'deleted' : 'ready', limit: limit + 1 })
  const files = found.slice(0, limit)
  const last = files.at(-1)
  return { files, nextCursor: found.length > limit && last ? pageEnd(last) : null }
}

/** A deleted one too, as long as it can be restored. */
export async function showFile({ db }: Pick<FilesDeps, 'db'>, actor: PlatformPrincipal, { spaceId, fileId }: OneFile): Promise<File> {
  await openSpace(db, actor, { spaceId, right: 'enter' })
  const found = await findFile(db, { tenantId: actor.tenantId, spaceId, fileId })
  if (!found) throw noSuchFile(fileId)
  return found.file
}

/** What the file is shown as goes by its own bytes; everything else is only ever saved. It is sent to a member only. Throws OBJECT_STORE_UNAVAILABLE. */
export async function downloadFile(
  { db, objects, revocations }: Pick<FilesDeps, 'db' | 'objects' | 'revocations'>,
  actor: PlatformPrincipal,
  { spaceId, fileId }: OneFile,
): Promise<FileBody> {
  const { tenantId } = actor
  await openSpace(db, actor, { spaceId, right: 'enter' })
  const found = await findFile(db, { tenantId, spaceId, fileId })
  if (found?.state !== 'ready') throw noSuchFile(fileId)
  const { file, shownAs } = found
  return {
    ...{ fileName: file.name, bytes: file.bytes, etag: `"${file.sha256.slice(0, 32)}"` },
    ...{ contentType: shownAs ?? 'application/octet-stream', inline: shownAs !== null },
    async open(range) {
      const content = await objects.get(objectKey({ tenantId, id: fileId }), range)
      if (!content)
        throw problem('NOT_FOUND', `the bytes of ${fileId} are gone, which backups of the object store may still have: tell the operator`)
      return content
    },
    stands: (over) => insideOf({ db, revocations }, actor, { spaceId, over }),
  }
}

export const noSuchFile = (fileId: string) => problem('NOT_FOUND', `there is no file ${fileId} in this space`)
