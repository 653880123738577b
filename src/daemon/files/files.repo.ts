import { sql } from 'kysely'
import type { PageEnd } from '../../core/contract/index.ts'
import type { File } from '../../core/files/index.ts'
import { type DbOrTx, forUpdate, newestFirst, type Tx } from '../db/index.ts'
import type { FileTable } from './files.tables.ts'

/** A row of `files`. `shownAs`: the type a browser may display inline; null: download only. */
export type FileRecord = Readonly<{ file: File; objectId: string; state: FileTable['state']; shownAs: string | null }>

const toRecord = (row: FileTable): FileRecord => ({
  file: {
    ...{ id: row.id, spaceId: row.space_id, folderId: row.folder_id, name: row.name, bytes: row.bytes, contentType: row.content_type },
    ...{ sha256: row.sha256 ?? '', createdBy: row.created_by, createdAt: row.created_at, updatedAt: row.updated_at },
    deletedAt: row.deleted_at,
  },
  objectId: row.object_id ?? row.id,
  state: row.state,
  shownAs: row.shown_as,
})

/** An object of the store. Its id is that of the file, or of one attempt to store it. */
export type StoredObject = Readonly<{ tenantId: string; objectId: string }>

/** The key in the object store. Contains only ids. */
export const objectKey = ({ tenantId, objectId }: StoredObject): string => `${objectFolder(tenantId)}/${objectId}`

/** The first part of the keys of all files of a tenant. */
export const objectFolder = (tenantId: string): string => `files/${tenantId}`

/** SQL expression on `files`: the id of its object. */
export const objectIdOf = sql<string>`coalesce(files.object_id, files.id)`.as('objectId')

/** Key and checksum of all files that have an object. */
export async function filesStored(db: DbOrTx): Promise<Readonly<{ key: string; sha256: string | null }>[]> {
  const stored = db.selectFrom('files').select(['tenant_id as tenantId', objectIdOf, 'sha256']).where('state', 'in', ['ready', 'deleted'])
  return (await stored.execute()).map((row) => ({ key: objectKey(row), sha256: row.sha256 }))
}

const someFiles = 10

/** The keys of a few files that had an object, also of those being erased. Ids are random, so they are spread over all files. */
export const someFileKeys = async (db: DbOrTx): Promise<string[]> => {
  const stored = db.selectFrom('files').select(['tenant_id as tenantId', objectIdOf]).where('state', 'in', ['ready', 'deleted', 'erasing'])
  return (await stored.where('sha256', 'is not', null).orderBy('id').limit(someFiles).execute()).map(objectKey)
}

type ReservedUpload = Readonly<{
  id: string
  /** Given only if the object has another id than the file. */
  objectId?: string
  tenantId: string
  spaceId: string
  bytes: number
  createdBy: string
  at: string
  eraseAt: string
}>

/** Inserts an upload, of which only uploader and reserved size are known. */
export async function insertUpload(
  tx: Tx,
  { id, objectId, tenantId, spaceId, bytes, createdBy, at, eraseAt }: ReservedUpload,
): Promise<void> {
  await tx
    .insertInto('files')
    .values({
      ...{ id, tenant_id: tenantId, space_id: spaceId, folder_id: null, name: '', content_type: '', shown_as: null, bytes },
      object_id: objectId ?? null,
      ...{ sha256: null, state: 'uploading', created_by: createdBy, created_at: at, updated_at: at, deleted_at: null, erase_at: eraseAt },
    })
    .execute()
}

type Where = Readonly<{ tenantId: string; spaceId: string }>

/** A file that exists, or was deleted and can be restored. */
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

/** SQL condition on `spaces`: the space has files, including deleted ones that are not erased yet. */
export const spacesWithFiles = sql<boolean>`exists (select 1 from files where files.space_id = spaces.id)`

type Page = Where & Readonly<{ state: 'ready' | 'deleted'; folderId?: string | undefined; after?: PageEnd | undefined; limit: number }>

/** Newest first. `folderId` may be `none`. */
export async function filesAfter(db: DbOrTx, { tenantId, spaceId, state, folderId, after, limit }: Page): Promise<File[]> {
  const ofSpace = db.selectFrom('files').selectAll().where('space_id', '=', spaceId).where('tenant_id', '=', tenantId)
  let query = newestFirst(ofSpace.where('state', '=', state), { after, limit })
  if (folderId === 'none') query = query.where('folder_id', 'is', null)
  else if (folderId !== undefined) query = query.where('folder_id', '=', folderId)
  return (await query.execute()).map((row) => toRecord(row).file)
}

type Changes = Partial<Omit<FileTable, 'tenant_id' | 'space_id'>>

/** Changes a file in state `from`. Returns false if its state changed meanwhile. */
export async function changeFileRow(tx: DbOrTx, { id, from }: Readonly<{ id: string; from: FileTable['state'] }>, changes: Changes) {
  const { numUpdatedRows } = await tx.updateTable('files').set(changes).where('id', '=', id).where('state', '=', from).executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Locks and returns the usage of a tenant: no other upload can reserve storage until the transaction ends. */
export async function lockUsage(tx: Tx, tenantId: string): Promise<number> {
  await tx
    .insertInto('file_usage')
    .values({ tenant_id: tenantId, bytes: 0 })
    .onConflict((c) => c.column('tenant_id').doNothing())
    .execute()
  const one = tx.selectFrom('file_usage').select('bytes').where('tenant_id', '=', tenantId)
  return (await one.modifyEnd(forUpdate(tx)).executeTakeFirstOrThrow()).bytes
}

/** Usage in bytes, without a lock. */
export async function readUsedBytes(db: DbOrTx, tenantId: string): Promise<number> {
  const row = await db.selectFrom('file_usage').select('bytes').where('tenant_id', '=', tenantId).executeTakeFirst()
  return row?.bytes ?? 0
}

/** Call it in the transaction that changes the size of a file, so that the sum stays exact. */
export async function addUsage(tx: Tx, tenantId: string, bytes: number): Promise<void> {
  if (bytes === 0) return
  await tx
    .updateTable('file_usage')
    .set((eb) => ({ bytes: eb('bytes', '+', bytes) }))
    .where('tenant_id', '=', tenantId)
    .execute()
}

/** The plan of the tenant, which sets its quota. */
export async function planOf(db: DbOrTx, tenantId: string): Promise<'light' | 'pro' | 'dedicated'> {
  const row = await db.selectFrom('tenants').select('plan').where('id', '=', tenantId).executeTakeFirst()
  return row?.plan ?? 'light'
}
