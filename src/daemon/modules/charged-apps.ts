import type { DbOrTx } from '../db/index.ts'

type Of = Readonly<{ moduleId: string; tenantId?: string }>

/** Installed paid apps with a module, which charge on when the module cannot run: only their own uninstallation ends the payment. */
export function chargedApps(db: DbOrTx, { moduleId, tenantId }: Of): Promise<readonly Readonly<{ id: string }>[]> {
  const rows = db
    .selectFrom('marketplace_subscriptions')
    .select('id')
    .where('module_id', '=', moduleId)
    .where('status', '=', 'active')
    .where('payment_subscription_id', 'is not', null)
  return (tenantId === undefined ? rows : rows.where('tenant_id', '=', tenantId)).execute()
}

/** Tenants of such apps whose installed version is withdrawn: they pay for what does not run. */
export async function tenantsCharged(db: DbOrTx, { moduleId }: Pick<Of, 'moduleId'>): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('marketplace_subscriptions as s')
    .innerJoin('module_installations as i', (join) =>
      join.onRef('i.tenant_id', '=', 's.tenant_id').onRef('i.module_id', '=', 's.module_id'),
    )
    .innerJoin('module_withdrawals as w', (join) => join.onRef('w.module_id', '=', 'i.module_id').onRef('w.version', '=', 'i.version'))
    .innerJoin('tenants as t', 't.id', 's.tenant_id')
    .select('t.slug')
    .distinct()
    .where('s.module_id', '=', moduleId)
    .where('s.status', '=', 'active')
    .where('s.payment_subscription_id', 'is not', null)
    .orderBy('t.slug')
    .execute()
  return rows.map(({ slug }) => slug)
}
