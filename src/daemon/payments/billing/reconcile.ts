import type { Difference } from '../../../core/billing/index.ts'
import { plural, problem } from '../../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import { type SubscriptionRecord, subscriptionsOf } from '../../marketplace/index.ts'
import { existingTenant, type TenantRecord, tenantsAfter } from '../../tenants/index.ts'
import { orProblem } from '../problems.ts'
import type { BillingDeps } from './deps.ts'
import { ofCharges, ofDrafts } from './reconcile-invoices.ts'
import { ofItems, ofPlanAndUnknown } from './reconcile-subscriptions.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'log'>
type Query = Readonly<{ cursor?: string | undefined; limit: number; tenant?: string | undefined }>

/** Proxies end a request after a minute, and a tenant takes several calls. */
const maxPageMs = 20_000

/** A page for an API request. Changes nothing. Throws PAYMENTS_UNAVAILABLE, NOT_FOUND. */
export const reconcilePage = (deps: Deps, query: Query) => orProblem(() => comparePage(deps, query))

/**
 * Compares one tenant, or a page of tenants by slug that ends after 20 seconds. Throws a PaymentFailure, with which a job waits for the provider,
 * PAYMENTS_UNAVAILABLE without one, and NOT_FOUND.
 */
async function comparePage(deps: Deps, { cursor, limit, tenant }: Query) {
  const { db, clock, provider } = deps
  const tenants = tenant === undefined ? await tenantsAfter(db, { after: cursor, limit: limit + 1 }) : [await existingTenant(db, tenant)]
  if (provider.name === 'none')
    throw problem(
      'PAYMENTS_UNAVAILABLE',
      'The platform has no payment provider, so there is nothing to compare. fix: set TENANTRY_STRIPE_SECRET_KEY',
    )
  const startedMs = clock.monotonicMs()
  const differences: Difference[] = []
  let end: TenantRecord | undefined
  let checked = 0
  for (const one of tenants) {
    if (end && (checked === limit || clock.monotonicMs() - startedMs >= maxPageMs)) break
    differences.push(...(await ofTenant(deps, one)))
    checked++
    end = one
  }
  return { differences, checked, nextCursor: end && checked < tenants.length ? end.slug : null }
}

const pageSize = 50

/** `after`: the end of the page before; the others are what the pages up to it have found. */
type Compared = Readonly<{
  after?: string | undefined
  count?: number | undefined
  checked?: number | undefined
  first?: string | undefined
}>

/** Compares the next page of everything; after the last one it raises one alert, or closes it. */
export async function reconcileNext(deps: Deps, { after, count = 0, checked = 0, first }: Compared) {
  if (deps.provider.name === 'none') return { summary: 'no payment provider', next: null }
  const page = await comparePage(deps, { cursor: after, limit: pageSize })
  const [found] = page.differences
  const total = {
    ...{ count: count + page.differences.length, checked: checked + page.checked },
    first: first ?? (found && `${found.kind} of ${found.subject} (${found.id})`),
  }
  if (page.nextCursor === null) await alertDiffering(deps, total)
  return {
    summary: `${plural(total.count, 'difference')} in ${plural(total.checked, 'tenant')}`,
    next: page.nextCursor === null ? null : { ...total, after: page.nextCursor },
  }
}

const alertDiffering = ({ db, clock }: Deps, { count, first }: Readonly<{ count: number; first: string | undefined }>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (first !== undefined)
      await raiseAlert(tx, clock, {
        kind: 'billing_differs',
        subject: 'billing',
        title: `${plural(count, 'difference')} with the payment provider`,
        body:
          `The daily comparison found what the platform and the provider have differently. The first: ${first}.\n` +
          'Nothing was changed. Each line names a fix.',
        command: 'tenantry billing reconcile',
        standing: true,
      })
    else await closeAlerts(tx, clock, { subject: 'billing', kinds: ['billing_differs'], because: 'nothing differs any more' })
  })

async function ofTenant(deps: Deps, tenant: TenantRecord): Promise<Difference[]> {
  const { db, provider } = deps
  const { id: tenantId, paymentCustomerId: customerId } = tenant
  const rows = (await subscriptionsOf(db, { tenantId })).filter(({ paymentSubscriptionId }) => paymentSubscriptionId !== null)
  if (customerId === null || !(await provider.getCustomer(customerId))) {
    // A former customer may still be charged.
    const cancelled = rows.filter(({ status }) => status === 'cancelled')
    return [...ofCustomer(tenant, rows), ...(await ofItems(deps, tenant, { rows: cancelled, all: [] }))]
  }
  const all = await provider.listSubscriptions(customerId)
  const subscriptions = [...(await ofItems(deps, tenant, { rows, all })), ...(await ofPlanAndUnknown(deps, tenant, { rows, all }))]
  const invoices = await provider.listInvoices({ customerId })
  return [...subscriptions, ...ofDrafts(deps, tenant, { rows, all, invoices }), ...(await ofCharges(deps, tenant, { rows, all, invoices }))]
}

function ofCustomer({ slug, paymentCustomerId: id }: TenantRecord, rows: readonly SubscriptionRecord[]): Difference[] {
  const missing = { kind: 'customer_missing', subject: slug } as const
  if (id !== null) {
    const fix = `tenantry tenants billing ${slug} --create-customer`
    return [{ ...missing, id, here: 'the customer of the tenant', there: 'deleted or unknown', fix }]
  }
  const here = 'a paid item is installed and the tenant has no payment customer'
  const fix = `tenantry tenants update ${slug} --payment-customer <id>`
  return rows.filter(({ status }) => status === 'active').map((row) => ({ ...missing, id: row.id, here, there: 'unknown', fix }))
}
