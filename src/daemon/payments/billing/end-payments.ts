import { isoNow, problem } from '../../../core/kit/index.ts'
import { isLive, type ProviderSubscription } from '../../../core/payments/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { type TenantRecord, tenantById } from '../../tenants/index.ts'
import { createOnce } from '../prices.ts'
import type { BillingDeps } from './deps.ts'
import { endModules } from './end-modules.ts'
import { reportUntilEnd } from './report-usage.ts'
import { closeSpan } from './spans.repo.ts'
import { alertLost } from './watch-unbilled.ts'

type Deps = Omit<BillingDeps, 'mailer' | 'baseUrl' | 'transferPayouts'>

const system = { kind: 'system', name: 'billing' } as const

/**
 * Ends every subscription of a tenant that is deleted, also those of customers that it had before. Usage since the last invoice is reported first, and
 * its subscription ends with the period, so that the last invoice has it; every other one ends at once. Throws while the provider does not answer and
 * while an installation is open; it can be repeated.
 */
export async function endPayments(
  deps: Deps,
  { id }: Pick<TenantRecord, 'id'>,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const { db, clock, provider } = deps
  const tenant = await tenantById(db, id)
  const slug = tenant?.slug ?? id
  if (provider.name === 'none') {
    await assertNothingToEnd(deps, { id, slug, customerId: tenant?.paymentCustomerId ?? null })
    return alertLost(deps, { id, slug })
  }
  await assertNoOpenAttempt(deps, { id, slug })
  const metered = await reportLast(deps, id, signal)
  await endModules(deps, id, signal)
  await alertLost(deps, { id, slug })
  for (const one of await subscriptionsOf(deps, { id, customerId: tenant?.paymentCustomerId ?? null })) {
    signal.throwIfAborted()
    // A subscription that ends with its period stays: its last invoice may have usage, and nothing else is charged.
    if (!isLive(one) || one.cancelAtPeriodEnd) continue
    const ends = await end(deps, one, metered.has(one.id))
    const data = { tenantId: id, subscriptionId: one.id, ends }
    await db.transaction().execute((tx) => recordAudit(tx, clock, { actor: system, action: 'billing.tenant-ended', subject: slug, data }))
  }
}

type Named = Readonly<{ id: string; slug: string }>
type Customer = Readonly<{ id: string; customerId: string | null }>

/** Without the provider nothing can be ended: a subscription would charge on. Throws PAYMENTS_UNAVAILABLE. */
async function assertNothingToEnd({ db }: Deps, { id, slug, customerId }: Named & Customer): Promise<void> {
  const span = await db.selectFrom('billing_spans').select('item_id').where('tenant_id', '=', id).executeTakeFirst()
  const plan = await db.selectFrom('tenant_billing').select('tenant_id').where('tenant_id', '=', id).executeTakeFirst()
  if (customerId === null && !span && !plan) return
  throw problem(
    'PAYMENTS_UNAVAILABLE',
    `${slug} has payments, and the platform has no payment provider to end them. fix: set TENANTRY_STRIPE_SECRET_KEY and restart; the deletion continues`,
  )
}

/** An installation that is open may still charge; it ends within a day. Throws PAYMENTS_UNAVAILABLE. */
async function assertNoOpenAttempt({ db }: Deps, { id, slug }: Named): Promise<void> {
  const of = db.selectFrom('payment_attempts').select('id').where('tenant_id', '=', id).where('finished_at', 'is', null)
  const open = await of.executeTakeFirst()
  if (open)
    throw problem(
      'PAYMENTS_UNAVAILABLE',
      `The paid installation ${open.id} of ${slug} has not ended. fix: wait; if the provider refuses to pay it back, \`tenantry alerts list\` names the reason`,
    )
}

/** Those of all customers that the tenant has or had, and that of its plan. */
async function subscriptionsOf({ db, provider }: Deps, { id, customerId }: Customer): Promise<readonly ProviderSubscription[]> {
  const attempts = await db.selectFrom('payment_attempts').select('customer_id').distinct().where('tenant_id', '=', id).execute()
  const spans = await db.selectFrom('billing_spans').select('customer_id').distinct().where('tenant_id', '=', id).execute()
  const customers = new Set([...(customerId ? [customerId] : []), ...[...attempts, ...spans].map((row) => row.customer_id)])
  const found = new Map<string, ProviderSubscription>()
  // A former customer may belong to another tenant now.
  for (const customer of customers)
    for (const one of await provider.listSubscriptions(customer))
      if (customer === customerId || one.metadata.svc_tenant === id) found.set(one.id, one)
  const plan = await db.selectFrom('tenant_billing').select('subscription_id').where('tenant_id', '=', id).executeTakeFirst()
  const planned = plan && (await provider.getSubscription(plan.subscription_id))
  if (planned) found.set(planned.id, planned)
  return [...found.values()]
}

/** Returns when it ends. */
async function end({ provider, clock }: Deps, { id, currentPeriodEnd }: ProviderSubscription, isMetered: boolean): Promise<string> {
  const findEnded = async () => {
    const found = await provider.getSubscription(id)
    return found && (!isLive(found) || (isMetered && found.cancelAtPeriodEnd)) ? found : null
  }
  if (!isMetered) {
    await createOnce(`tenant-deleted:${id}`, (key) => provider.cancelSubscription({ key, id }), findEnded)
    return isoNow(clock)
  }
  const change = { id, cancelAtPeriodEnd: true }
  await createOnce(`tenant-deleted:${id}:period-end`, (key) => provider.updateSubscription({ key, ...change }), findEnded)
  return currentPeriodEnd
}

/** Counts and reports active users up to now, as an uninstallation does. Returns the subscriptions with a price per user. */
async function reportLast(deps: Deps, tenantId: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const { db, clock, provider } = deps
  const spans = await db
    .selectFrom('billing_spans')
    .select('payment_subscription_id as id')
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where('price_model', '=', 'per-active-user')
    .execute()
  for (const { id } of spans) {
    signal.throwIfAborted()
    await db.transaction().execute((tx) => closeSpan(tx, { id, at: isoNow(clock) }))
    // One that has ended gets no invoice any more, and its own report of that may still wait.
    const found = await provider.getSubscription(id)
    await reportUntilEnd(deps, { id, isOver: found === null || !isLive(found) })
  }
  return new Set(spans.map(({ id }) => id))
}
