import { isoNow } from '../../core/kit/index.ts'
import { isLive, type ProviderSubscription } from '../../core/payments/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type TenantRecord, tenantById } from '../tenants/index.ts'
import type { BillingDeps } from './deps.ts'
import { endModules } from './end-modules.ts'
import { reportUntilEnd } from './report-usage.ts'
import { closeSpan } from './spans.repo.ts'

type Deps = Omit<BillingDeps, 'mailer' | 'baseUrl' | 'transferPayouts'>

const system = { kind: 'system', name: 'billing' } as const

/**
 * Ends every subscription of a tenant that is deleted, also those of customers that it had before. Usage since the last invoice is reported first, and
 * its subscription ends with the period, so that the last invoice has it; every other one ends at once. Throws while the provider does not answer; it
 * can be repeated.
 */
export async function endPayments(deps: Deps, { id }: Pick<TenantRecord, 'id'>, signal = new AbortController().signal): Promise<void> {
  const { db, clock, provider } = deps
  if (provider.name === 'none') return
  const tenant = await tenantById(db, id)
  const customerId = tenant?.paymentCustomerId
  const metered = await reportLast(deps, id, signal)
  await endModules(deps, id, signal)
  const former = await db.selectFrom('payment_attempts').select('customer_id').distinct().where('tenant_id', '=', id).execute()
  for (const customer of new Set([...(customerId ? [customerId] : []), ...former.map((row) => row.customer_id)]))
    for (const one of await provider.listSubscriptions(customer)) {
      signal.throwIfAborted()
      // A former customer may belong to another tenant now.
      const isOwn = customer === customerId || one.metadata.svc_tenant === id
      // A subscription that ends with its period stays: its last invoice may have usage, and nothing else is charged.
      if (!isOwn || !isLive(one) || one.cancelAtPeriodEnd) continue
      const ends = await end(deps, one, metered.has(one.id))
      const data = { tenantId: id, subscriptionId: one.id, ends }
      await db
        .transaction()
        .execute((tx) => recordAudit(tx, clock, { actor: system, action: 'billing.tenant-ended', subject: tenant?.slug ?? id, data }))
    }
}

/** Returns when it ends. */
async function end({ provider, clock }: Deps, { id, currentPeriodEnd }: ProviderSubscription, isMetered: boolean): Promise<string> {
  if (!isMetered) {
    await provider.cancelSubscription({ key: `tenant-deleted:${id}`, id })
    return isoNow(clock)
  }
  await provider.updateSubscription({ key: `tenant-deleted:${id}:period-end`, id, cancelAtPeriodEnd: true })
  return currentPeriodEnd
}

/** Counts and reports active users up to now, as an uninstallation does. Returns the subscriptions with a price per user. */
async function reportLast(deps: Deps, tenantId: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const { db, clock, provider } = deps
  const spans = await db
    .selectFrom('billing_spans')
    .select(['payment_subscription_id as id', 'customer_id as customerId'])
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where('price_model', '=', 'per-active-user')
    .execute()
  for (const { id, customerId } of spans) {
    signal.throwIfAborted()
    await db.transaction().execute((tx) => closeSpan(tx, { id, at: isoNow(clock) }))
    // A customer that was deleted at the provider can be charged for nothing.
    if (await provider.getCustomer(customerId)) await reportUntilEnd(deps, { id })
  }
  return new Set(spans.map(({ id }) => id))
}
