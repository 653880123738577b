import type { DbOrTx } from '../db/index.ts'
import { apiPrefixOf } from './show-modules.ts'

/**
 * Active modules of a tenant by id, as bootstrap documents show them. `enabled` is false while a module is paused or withdrawn; then its flag is not
 * shown either. Each change records a `module.…` event, which makes the documents stale.
 */
export async function modulesOfTenant(db: DbOrTx, tenantId: string) {
  const rows = await db
    .selectFrom('module_installations as one')
    .leftJoin('module_withdrawals as withdrawal', (join) =>
      join.onRef('withdrawal.module_id', '=', 'one.module_id').onRef('withdrawal.version', '=', 'one.version'),
    )
    .select(['one.module_id', 'one.version', 'one.paused', 'one.feature_flag', 'withdrawal.reason'])
    .where('one.tenant_id', '=', tenantId)
    .where('one.status', '=', 'active')
    .orderBy('one.module_id')
    .execute()
  return rows.map(({ module_id: moduleId, version, paused, feature_flag: featureFlag, reason }) => ({
    ...{ key: moduleId, moduleId, version, enabled: paused === 0 && reason === null, apiPrefix: apiPrefixOf(moduleId), featureFlag },
  }))
}
