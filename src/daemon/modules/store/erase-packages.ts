import type { Db } from '../../db/index.ts'
import { packageKey, type StoreDeps } from './deps.ts'

type OfTenant = Readonly<{ id: string }>

const ofTenant = (db: Db, table: 'store_artifacts' | 'store_modules', { id }: OfTenant) =>
  db
    .selectFrom(table)
    .select('id')
    .where('developer_id', 'in', db.selectFrom('store_developers').select('id').where('tenant_id', '=', id))
    .execute()

/** Approved modules of the developers of a tenant. */
export const modulesOfDevelopers = async (db: Db, tenant: OfTenant): Promise<readonly string[]> =>
  (await ofTenant(db, 'store_modules', tenant)).map(({ id }) => id)

/**
 * Removes the packages that developers of a tenant uploaded, and the ratings of their modules, also by users of other tenants: they would
 * reference a deleted module. Other rows stay. It can be repeated.
 */
export async function erasePackages({ db, objects }: Pick<StoreDeps, 'db' | 'objects'>, tenant: OfTenant, signal?: AbortSignal) {
  for (const { id } of await ofTenant(db, 'store_artifacts', tenant)) {
    signal?.throwIfAborted()
    await objects.remove(packageKey(id))
  }
  for (const moduleId of await modulesOfDevelopers(db, tenant))
    await db.deleteFrom('store_ratings').where('module_id', '=', moduleId).execute()
}
