import { sql } from 'kysely'
import type { PageEnd } from '../../core/contract/index.ts'
import type { File } from '../../core/files/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { FileTable } from './files.tables.ts'

/** A file as this room knows it: what everybody in its space sees, and what it is shown as. */
export type FileRecord = Readonly<{ file: File; state: FileTable['state']; shownAs: string | null }>

const toRecord = (row: FileTable): FileRecord => ({
  file: {
    ...{ id: row.id, spaceId: row.space_id, folderId: row.folder_id, name: row.name, bytes: row.bytes, contentType: row.content_type },
    ...{ sha256: row.sha256 ?? '', createdBy: row.created_by, createdAt: row.created_at, updatedAt: row.updated_at },
    deletedAt: row.deleted_at,
  },
  state: row.state,
  shownAs: row.shown_as,
})

/** The key of its object: ids alone. */
export const objectKey = ({ tenantId, id }: Readonly<{ tenantId: string; id: string }>): string => `files/${tenantId}/${id}`

type Begun = Readonly<{ id: string; tenantId: string; spaceId: string; bytes: number; createdBy: string; at: string; eraseAt: string }>

/** A file of which nothing is known but that somebody is about to send it. */
export async function insertUpload(tx: Tx, { id, tenantId, spaceId, bytes, createdBy, at, eraseAt }: Begun): Promise<void> {
  await tx
    .insertInto('files')
    .values({
      ...{ id, tenant_id: tenantId, space_id: spaceId, folder_id: null, name: '', content_type: '', shown_as: null, bytes },
      ...{ sha256: null, state: 'uploading', created_by: createdBy, created_at: at, updated_at: at, deleted_at: null, erase_at: eraseAt },
    })
    .execute()
}

type Where = Readonly<{ tenantId: string; spaceId: string }>

/** A file that is there, or was deleted and can be restored. */
export async function findFile(db: DbOrTx, { tenantId, spaceId, fileId }: Where & Readonly<{ fileId: string }>) {
  const row = await db
    .selectFrom('files')
    .selectAll()
    .where('id', '=', fileId)
    .where('space_id', '=', spaceId)
    .where('tenant_id', '=', tenantId)
    .where('state', 'in', ['ready', 'deleted'])
    .executeTakeFirst()
  return row && toRecord(row)
}

/** Of a space that is looked at: whether files of it are there, deleted ones too as long as the object store does not let go of them. */
export const spacesWithFiles = sql<boolean>`exists (select 1 from files where files.space_id = spaces.id)`

type Page = Where & Readonly<{ state: 'ready' | 'deleted'; folderId?: string | undefined; after?: PageEnd | undefined; limit: number }>

/** The newest first; `folderId` may be `none`. */
export async function filesAfter(db: DbOrTx, { tenantId, spaceId, state, folderId, after, limit }: Page): Promise<File[]> {
  let query = db
    .selectFrom('files')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('tenant_id', '=', tenantId)
    .where('state', '=', state)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (folderId === 'none') query = query.where('folder_id', 'is', null)
  else if (folderId !== undefined) query = query.where('folder_id', '=', folderId)
  if (after) query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('created_at', 'id'), '<', tuple(after.createdAt, after.id)))
  return (await query.execute()).map((row) => toRecord(row).file)
}

type Changes = Partial<Omit<FileTable, 'id' | 'tenant_id' | 'space_id'>>

/** Changes a file that is still in the state that was read; false when somebody was faster. */
export async function changeFileRow(tx: DbOrTx, { id, from }: Readonly<{ id: string; from: FileTable['state'] }>, changes: Changes) {
  const { numUpdatedRows } = await tx.updateTable('files').set(changes).where('id', '=', id).where('state', '=', from).executeTakeFirst()
  return numUpdatedRows === 1n
}
