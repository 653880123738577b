import { isLive } from '../../core/payments/index.ts'
import type { TenantRecord } from '../tenants/index.ts'
import { tenantById } from '../tenants/index.ts'
import type { BillingDeps } from './deps.ts'

/** Ends every subscription of a tenant that is deleted: nothing is charged for it any more. It can be repeated. */
export async function endPayments(
  { db, provider }: Pick<BillingDeps, 'db' | 'provider'>,
  { id }: Pick<TenantRecord, 'id'>,
  signal?: AbortSignal,
) {
  const customerId = (await tenantById(db, id))?.paymentCustomerId
  if (!customerId || provider.name === 'none') return
  for (const one of await provider.listSubscriptions(customerId)) {
    signal?.throwIfAborted()
    if (isLive(one)) await provider.cancelSubscription({ key: `tenant-deleted:${one.id}`, id: one.id })
  }
}
