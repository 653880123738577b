import { isLive } from '../../core/payments/index.ts'
import type { TenantRecord } from '../tenants/index.ts'
import { tenantById } from '../tenants/index.ts'
import type { BillingDeps } from './deps.ts'

/**
 * Ends every subscription of a tenant that is deleted, also those of customers that it had before: nothing is charged for it any more. It can be
 * repeated.
 */
export async function endPayments(
  { db, provider }: Pick<BillingDeps, 'db' | 'provider'>,
  { id }: Pick<TenantRecord, 'id'>,
  signal?: AbortSignal,
) {
  if (provider.name === 'none') return
  const customerId = (await tenantById(db, id))?.paymentCustomerId
  const former = await db.selectFrom('payment_attempts').select('customer_id').distinct().where('tenant_id', '=', id).execute()
  for (const customer of new Set([...(customerId ? [customerId] : []), ...former.map((row) => row.customer_id)]))
    for (const one of await provider.listSubscriptions(customer)) {
      signal?.throwIfAborted()
      // A former customer may belong to another tenant now.
      if (isLive(one) && (customer === customerId || one.metadata.svc_tenant === id))
        await provider.cancelSubscription({ key: `tenant-deleted:${one.id}`, id: one.id })
    }
}
