import type { DbOrTx } from '../db/index.ts'
import type { FilesDeps } from './deps.ts'
import { filesAfter, objectIdOf, objectKey, type StoredObject } from './files.repo.ts'

/** The newest files of a space, for the platform itself: it has checked who may see them. */
export const newestFiles = (db: DbOrTx, { tenantId, spaceId, limit }: Readonly<{ tenantId: string; spaceId: string; limit: number }>) =>
  filesAfter(db, { tenantId, spaceId, state: 'ready', limit })

/** A file of the tenant in any of its spaces. */
export async function findFileOf(db: DbOrTx, { tenantId, fileId }: Readonly<{ tenantId: string; fileId: string }>) {
  const query = db
    .selectFrom('files')
    .select(['id', 'space_id', 'name', 'bytes', objectIdOf])
    .where('id', '=', fileId)
    .where('tenant_id', '=', tenantId)
  const row = await query.where('state', '=', 'ready').executeTakeFirst()
  return row && { id: row.id, spaceId: row.space_id, name: row.name, bytes: Number(row.bytes), objectId: row.objectId }
}

type SmallFile = StoredObject & Readonly<{ bytes: number }>

/** All bytes of a small file. Undefined: the object store has none, or another number of them than the file. */
export async function readContent({ objects }: Pick<FilesDeps, 'objects'>, { bytes, ...stored }: SmallFile): Promise<Buffer | undefined> {
  const content = await objects.get(objectKey(stored))
  if (!content) return undefined
  const parts: Uint8Array[] = []
  let read = 0
  for await (const part of content) {
    read += part.length
    if (read > bytes) return undefined
    parts.push(part)
  }
  return read === bytes ? Buffer.concat(parts) : undefined
}
