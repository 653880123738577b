import type { Db } from '../db/index.ts'

/** How many other tenants have installed a module of this list, by module. */
export async function installedElsewhere(db: Db, tenantId: string, moduleIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (moduleIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('module_installations')
    .select(({ fn }) => ['module_id', fn.countAll().as('tenants')])
    .where('module_id', 'in', [...moduleIds])
    .where('tenant_id', '<>', tenantId)
    .where('status', '<>', 'deleted')
    .groupBy('module_id')
    .orderBy('module_id')
    .execute()
  return new Map(rows.map(({ module_id, tenants }) => [module_id, Number(tenants)]))
}
