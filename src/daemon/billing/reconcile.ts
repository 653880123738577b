import { alertOf } from '../../core/alerts/index.ts'
import { type Difference, difference } from '../../core/billing/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import type { ProviderCustomer } from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { subscriptionsOf } from '../marketplace/index.ts'
import { orProblem } from '../payments/index.ts'
import { existingTenant, type TenantRecord, tenantsAfter } from '../tenants/index.ts'
import { withoutAccepted } from './accept-difference.ts'
import type { BillingDeps } from './deps.ts'
import { ofDrafts, ofEnded, ofLateItems, ofMonthlyPrices } from './reconcile-invoices.ts'
import { ofCancelledRows, ofSubscriptions } from './reconcile-subscriptions.ts'
import { ofModules, ofPlanned, ofUsage, ofWaived } from './reconcile-usage.ts'
import { type Comparison, ofPlatform } from './reconcile-vendors.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'log'>
type Query = Readonly<{ cursor?: string | undefined; limit: number; tenant?: string | undefined }>

/** Proxies end a request after a minute; a vendor or an item takes one call, and a tenant several. */
const maxPageMs = 20_000

/** A page for an API request. Changes nothing. Throws PAYMENTS_UNAVAILABLE, NOT_FOUND. */
export const reconcilePage = (deps: Deps, query: Query) => orProblem(() => comparePage(deps, query))

/**
 * Compares one tenant, or a page that ends after 20 seconds: vendors, items and transfers first, then tenants by slug. Throws a PaymentFailure, with
 * which a job waits for the provider, PAYMENTS_UNAVAILABLE without one, and NOT_FOUND.
 */
async function comparePage(deps: Deps, { limit, ...from }: Query) {
  if (from.tenant !== undefined) await existingTenant(deps.db, from.tenant)
  if (deps.provider.name === 'none')
    throw problem(
      'PAYMENTS_UNAVAILABLE',
      'The platform has no payment provider, so there is nothing to compare. fix: set TENANTRY_STRIPE_SECRET_KEY',
    )
  const startedMs = deps.clock.monotonicMs()
  const compared: Difference[][] = []
  let checked = 0
  let nextCursor: string | null = null
  let end: string | null = null
  for await (const one of comparisons(deps, { ...from, limit: limit + 1 })) {
    if (end !== null && (checked === limit || deps.clock.monotonicMs() - startedMs >= maxPageMs)) {
      nextCursor = end
      break
    }
    compared.push(await one.compare())
    if (one.isTenant) checked++
    end = one.end
  }
  const differences = compared.flat()
  const open = await withoutAccepted(deps, differences)
  return { differences: open, accepted: differences.length - open.length, checked, nextCursor }
}

/** From a cursor on; at most `limit` tenants. That of a tenant is its slug. */
async function* comparisons(deps: Deps, { cursor, limit, tenant }: Query): AsyncGenerator<Comparison & { isTenant?: true }> {
  const isOfPlatform = tenant === undefined && (cursor === undefined || cursor.includes(':'))
  if (isOfPlatform) yield* ofPlatform(deps, cursor)
  const after = isOfPlatform ? undefined : cursor
  const tenants = tenant === undefined ? await tenantsAfter(deps.db, { after, limit }) : [await existingTenant(deps.db, tenant)]
  for (const one of tenants) yield { end: one.slug, isTenant: true, compare: () => ofTenant(deps, one) }
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
    if (first !== undefined) await raiseAlert(tx, clock, alertOf.billing_differs({ count, first }))
    else await closeAlerts(tx, clock, { subject: 'billing', kinds: ['billing_differs'], because: 'nothing differs any more' })
  })

const ofTenant = async (deps: Deps, tenant: TenantRecord): Promise<Difference[]> => [
  ...(await ofPlanned(deps, tenant)),
  ...(await atProvider(deps, tenant)),
]

async function atProvider(deps: Deps, tenant: TenantRecord): Promise<Difference[]> {
  const { db, provider } = deps
  const { slug, paymentCustomerId: customerId } = tenant
  const rows = (await subscriptionsOf(db, { tenantId: tenant.id })).filter(({ paymentSubscriptionId }) => paymentSubscriptionId !== null)
  if (customerId === null)
    return [
      ...rows
        .filter(({ status }) => status === 'active')
        .map((row) =>
          difference(
            'customer_missing',
            { subject: slug, id: row.id },
            {
              ...{ here: 'a paid item is installed and the tenant has no payment customer', there: 'unknown' },
              fix: `tenantry tenants update ${slug} --payment-customer <id>`,
            },
          ),
        ),
      ...(await ofCancelledRows(deps, slug, rows)),
    ]
  const customer = await provider.getCustomer(customerId)
  if (!customer)
    return [
      difference(
        'customer_missing',
        { subject: slug, id: customerId },
        {
          ...{ here: 'the customer of the tenant', there: 'deleted or unknown' },
          fix: `tenantry tenants billing ${slug} --create-customer`,
        },
      ),
      ...(await ofCancelledRows(deps, slug, rows)),
    ]
  const all = await provider.listSubscriptions(customerId)
  const found = [...ofAddress(tenant, customer), ...(await ofSubscriptions(deps, tenant, { rows, all }))]
  const invoices = await provider.listInvoices({ customerId })
  found.push(
    ...(await ofUsage(deps, tenant, invoices)),
    ...(await ofModules(deps, tenant, invoices)),
    ...(await ofWaived(deps, tenant, invoices)),
    ...ofDrafts(deps, { slug, rows, all, invoices }),
    ...(await ofMonthlyPrices(deps, { slug, rows, all, invoices })),
    ...(await ofEnded(deps, { slug, rows, all, invoices })),
    ...(await ofLateItems(deps, tenant, invoices)),
  )
  return found
}

/** It names no address: what an operator accepts is in the audit log. */
const ofAddress = ({ slug, billingEmail }: TenantRecord, { id, email }: ProviderCustomer): Difference[] =>
  billingEmail === null || billingEmail === email
    ? []
    : [
        difference(
          'billing_address_differs',
          { subject: slug, id },
          {
            ...{ here: 'the billing address of the tenant', there: email === null ? 'no address' : 'another address' },
            fix: `tenantry tenants update ${slug} --billing-email <address>`,
          },
        ),
      ]
