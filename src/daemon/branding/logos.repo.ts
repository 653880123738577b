import type { Picture } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { objectKey } from '../files/index.ts'

/** Beside the files of the tenant, so that its deletion erases them too. */
export const logoKey = ({ id, tenantId }: Readonly<{ id: string; tenantId: string }>): string => objectKey({ tenantId, objectId: id })

type Upload = Readonly<{ id: string; tenantId: string; image: Picture; bytes: number; at: string; eraseAt: string }>

/** Names an object before it is written. */
export async function insertLogo(db: DbOrTx, { id, tenantId, image, bytes, at, eraseAt }: Upload): Promise<void> {
  const { contentType, width, height } = image
  await db
    .insertInto('logos')
    .values({
      ...{ id, tenant_id: tenantId, state: 'uploading', content_type: contentType, bytes, width, height },
      ...{ sha256: null, created_at: at, erase_at: eraseAt },
    })
    .execute()
}

/** Returns false if the upload took so long that its row is being erased. */
export async function finishLogo(tx: Tx, { id, sha256 }: Readonly<{ id: string; sha256: string }>): Promise<boolean> {
  const ready = tx.updateTable('logos').set({ state: 'ready', sha256, erase_at: null })
  const { numUpdatedRows } = await ready.where('id', '=', id).where('state', '=', 'uploading').executeTakeFirst()
  return numUpdatedRows === 1n
}

/** No longer shows the ready logos of a tenant, and returns their ids: they are due to be erased. */
export async function retireLogos(tx: Tx, { tenantId, at }: Readonly<{ tenantId: string; at: string }>): Promise<string[]> {
  const retired = tx.updateTable('logos').set({ state: 'erasing', erase_at: at }).where('tenant_id', '=', tenantId)
  return (await retired.where('state', '=', 'ready').returning('id').execute()).map(({ id }) => id)
}

export const findLogo = (db: DbOrTx, id: string) =>
  db.selectFrom('logos').selectAll().where('id', '=', id).where('state', '=', 'ready').executeTakeFirst()

/** Key and checksum of all logos that have an object. */
export async function logosStored(db: DbOrTx): Promise<Readonly<{ key: string; sha256: string | null }>[]> {
  const stored = db.selectFrom('logos').select(['id', 'tenant_id as tenantId', 'sha256']).where('state', '=', 'ready')
  return (await stored.execute()).map((row) => ({ key: logoKey(row), sha256: row.sha256 }))
}

const someLogos = 10

/** The keys of a few logos that had an object, also of those being erased. */
export const someLogoKeys = async (db: DbOrTx): Promise<string[]> => {
  const stored = db.selectFrom('logos').select(['id', 'tenant_id as tenantId']).where('sha256', 'is not', null)
  return (await stored.orderBy('id').limit(someLogos).execute()).map(logoKey)
}

type Due = Readonly<{ id: string; tenantId: string }>

export const dueLogos = (db: DbOrTx, { now, limit }: Readonly<{ now: string; limit: number }>): Promise<Due[]> =>
  db
    .selectFrom('logos')
    .select(['id', 'tenant_id as tenantId'])
    .where('erase_at', '<=', now)
    .orderBy('erase_at')
    .orderBy('id')
    .limit(limit)
    .execute()

/** Marks a due logo, so that its upload cannot finish. Returns false if that just happened. */
export async function claimLogo(db: DbOrTx, { id, now }: Readonly<{ id: string; now: string }>): Promise<boolean> {
  const claim = db.updateTable('logos').set({ state: 'erasing' }).where('id', '=', id).where('erase_at', '<=', now)
  return (await claim.executeTakeFirst()).numUpdatedRows === 1n
}

export async function deleteLogoRow(db: DbOrTx, id: string): Promise<void> {
  await db.deleteFrom('logos').where('id', '=', id).where('state', '=', 'erasing').execute()
}
