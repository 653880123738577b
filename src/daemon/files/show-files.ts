import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import type { File } from '../../core/files/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { FileBody } from '../http/index.ts'
import { authorizeSpace } from '../spaces/index.ts'
import type { FilesDeps, OfSpace, OneFile } from './deps.ts'
import { filesAfter, findFile, objectKey } from './files.repo.ts'

type GuardDeps = Pick<FilesDeps, 'db' | 'revocations'>

/**
 * Returns a check that throws as soon as the caller may not enter the space any more; call it repeatedly until `over` aborts. It reads the database
 * once, after a revocation of the space, and whenever revocations cannot be read.
 */
export function membershipGuard(
  { db, revocations }: GuardDeps,
  actor: PlatformPrincipal,
  { spaceId, over }: OfSpace & Readonly<{ over: AbortSignal }>,
): () => Promise<void> {
  let isSure = false
  const forget = revocations.onRevoked((revoked) => {
    if (revoked === 'everything' || (revoked.kind === 'space' && revoked.subject === spaceId)) isSure = false
  })
  over.addEventListener('abort', forget, { once: true })
  return async () => {
    if (isSure && revocations.fresh()) return
    isSure = true // a revocation that comes while the database is asked says otherwise again
    await authorizeSpace(db, actor, { spaceId, right: 'enter' })
  }
}

type Wanted = OfSpace & Readonly<{ folderId?: string | undefined; deleted: boolean; cursor?: string | undefined; limit: number }>

/** A page of the files of a space, newest first. Throws NOT_FOUND to non-members, VALIDATION for the cursor. */
export async function listFiles(
  { db }: Pick<FilesDeps, 'db'>,
  actor: PlatformPrincipal,
  { spaceId, folderId, deleted, cursor, limit }: Wanted,
): Promise<{ files: File[]; nextCursor: string | null }> {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  await authorizeSpace(db, actor, { spaceId, right: 'enter' })
  const place = { tenantId: actor.tenantId, spaceId, folderId, after }
  const found = await filesAfter(db, { ...place, state: deleted ? 'deleted' : 'ready', limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, pageEnd)
  return { files: page, nextCursor }
}

/** Also shows deleted files that can be restored. Throws NOT_FOUND. */
export async function showFile({ db }: Pick<FilesDeps, 'db'>, actor: PlatformPrincipal, { spaceId, fileId }: OneFile): Promise<File> {
  await authorizeSpace(db, actor, { spaceId, right: 'enter' })
  const found = await findFile(db, { tenantId: actor.tenantId, spaceId, fileId })
  if (!found) throw fileNotFound(fileId)
  return found.file
}

/** The type is detected from the bytes; unknown types are download only. Throws NOT_FOUND, OBJECT_STORE_UNAVAILABLE. */
export async function downloadFile(
  { db, objects, revocations }: Pick<FilesDeps, 'db' | 'objects' | 'revocations'>,
  actor: PlatformPrincipal,
  { spaceId, fileId }: OneFile,
): Promise<FileBody> {
  const { tenantId } = actor
  await authorizeSpace(db, actor, { spaceId, right: 'enter' })
  const found = await findFile(db, { tenantId, spaceId, fileId })
  if (found?.state !== 'ready') throw fileNotFound(fileId)
  const { file, objectId, shownAs } = found
  return {
    ...{ fileName: file.name, bytes: file.bytes, etag: `"${file.sha256.slice(0, 32)}"` },
    ...{ contentType: shownAs ?? 'application/octet-stream', inline: shownAs !== null },
    async open(range) {
      const content = await objects.get(objectKey({ tenantId, objectId }), range)
      if (!content)
        throw problem(
          'NOT_FOUND',
          `The content of ${fileId} is missing in the object store. fix: ask the operator to restore it from a backup`,
        )
      return content
    },
    accessCheck: (over) => membershipGuard({ db, revocations }, actor, { spaceId, over }),
  }
}

export const fileNotFound = (fileId: string) => problem('NOT_FOUND', `File ${fileId} does not exist in this space`)
