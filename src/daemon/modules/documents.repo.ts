import { sql } from 'kysely'
import { documentBytes, type KeyRange, type RunEffects, type StoredDocument } from '../../core/modules/index.ts'
import { type DbOrTx, dialectOf, inBatches, type Tx } from '../db/index.ts'

/** Documents of one module in one tenant, of one generation. */
export type DocumentPlace = Readonly<{ tenantId: string; moduleId: string; generation: number }>

const documents = (db: DbOrTx, { tenantId, moduleId, generation }: DocumentPlace) =>
  db.selectFrom('module_documents').where('tenant_id', '=', tenantId).where('module_id', '=', moduleId).where('generation', '=', generation)

export async function findDocument(db: DbOrTx, place: DocumentPlace, key: string): Promise<StoredDocument | undefined> {
  const row = await documents(db, place).select(['key', 'value', 'version']).where('key', '=', key).executeTakeFirst()
  return row && { key, json: row.value, version: row.version }
}

/** Keys are ASCII; both databases compare them byte by byte. */
const keyOf = (db: DbOrTx) => (dialectOf(db) === 'postgres' ? sql<string>`key collate "C"` : sql<string>`key`)

function inRange(db: DbOrTx, place: DocumentPlace, { prefix, after, limit }: KeyRange) {
  const key = keyOf(db)
  const all = documents(db, place).orderBy(key).limit(limit)
  const behind = after === '' ? all : all.where(key, '>', after)
  return prefix === '' ? behind : behind.where(key, '>=', prefix).where(key, '<', `${prefix}\u007f`)
}

/** In the order of keys. Undefined if they have more than `maxBytes` together. */
export async function documentsIn(
  db: DbOrTx,
  place: DocumentPlace,
  range: KeyRange & Readonly<{ maxBytes: number }>,
): Promise<StoredDocument[] | undefined> {
  const sizes = await inRange(db, place, range).select('bytes').execute()
  if (sizes.reduce((sum, { bytes }) => sum + bytes, 0) > range.maxBytes) return undefined
  const rows = await inRange(db, place, range).select(['key', 'value', 'version']).execute()
  return rows.map(({ key, value, version }) => ({ key, json: value, version }))
}

export async function bytesOfDocuments(db: DbOrTx, place: DocumentPlace, keys: readonly string[]): Promise<number> {
  let bytes = 0
  for (const some of inBatches(keys)) {
    const rows = await documents(db, place).select('bytes').where('key', 'in', some).execute()
    bytes += rows.reduce((sum, row) => sum + row.bytes, 0)
  }
  return bytes
}

/** True while everything that a run read is as it was. */
export async function isUnchanged(tx: Tx, place: DocumentPlace, { reads, ranges }: Pick<RunEffects, 'reads' | 'ranges'>): Promise<boolean> {
  const found = new Map<string, number>()
  for (const some of inBatches([...reads.keys()]))
    for (const { key, version } of await documents(tx, place).select(['key', 'version']).where('key', 'in', some).execute())
      found.set(key, version)
  for (const [key, version] of reads) if ((found.get(key) ?? 0) !== version) return false
  for (const { seen, ...range } of ranges) {
    const rows = await inRange(tx, place, range).select(['key', 'version']).execute()
    if (rows.length !== seen.length || rows.some(({ key, version }, n) => key !== seen[n]?.[0] || version !== seen[n]?.[1])) return false
  }
  return true
}

/** Writes documents under a new version and returns by how many bytes they grew. */
export async function writeDocuments(
  tx: Tx,
  place: DocumentPlace,
  { changes, version }: Readonly<{ changes: RunEffects['documents']; version: number }>,
): Promise<number> {
  if (changes.length === 0) return 0
  const before = await bytesOfDocuments(
    tx,
    place,
    changes.map(({ key }) => key),
  )
  const kept = changes.flatMap(({ key, json }) => (json === null ? [] : [{ key, json }]))
  const { tenantId: tenant_id, moduleId: module_id, generation } = place
  const rows = kept.map((one) => ({ tenant_id, module_id, generation, key: one.key, value: one.json, version, bytes: documentBytes(one) }))
  const gone = changes.filter(({ json }) => json === null).map(({ key }) => key)
  for (const some of inBatches(gone))
    await tx
      .deleteFrom('module_documents')
      .where('tenant_id', '=', tenant_id)
      .where('module_id', '=', module_id)
      .where('generation', '=', generation)
      .where('key', 'in', some)
      .execute()
  for (const some of inBatches(rows))
    await tx
      .insertInto('module_documents')
      .values(some)
      .onConflict((c) =>
        c.columns(['tenant_id', 'module_id', 'generation', 'key']).doUpdateSet(({ ref }) => ({
          ...{ value: ref('excluded.value'), version: ref('excluded.version'), bytes: ref('excluded.bytes') },
        })),
      )
      .execute()
  return rows.reduce((sum, { bytes }) => sum + bytes, 0) - before
}

type Copy = Readonly<{ to: number; after: string; limit: number }>

/** Copies the next documents into another generation, in the order of keys. Returns the last key; undefined: there are no more. */
export async function copyDocuments(db: DbOrTx, place: DocumentPlace, { to, after, limit }: Copy): Promise<string | undefined> {
  const range = { prefix: '', after, limit }
  const last = (await inRange(db, place, range).select('key').execute()).at(-1)?.key
  if (last === undefined) return undefined
  await db
    .insertInto('module_documents')
    .columns(['tenant_id', 'module_id', 'generation', 'key', 'value', 'version', 'bytes'])
    .expression(
      inRange(db, place, range).select(['tenant_id', 'module_id', sql.lit(to).as('generation'), 'key', 'value', 'version', 'bytes']),
    )
    .execute()
  return last
}

/** Bytes of all documents. */
export async function sumOfDocuments(db: DbOrTx, place: DocumentPlace): Promise<number> {
  const { bytes } = await documents(db, place)
    .select(({ fn }) => fn.sum('bytes').as('bytes'))
    .executeTakeFirstOrThrow()
  return Number(bytes ?? 0)
}
