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
