import { alertOf } from '../../core/alerts/index.ts'
import { type Difference, difference } from '../../core/billing/index.ts'
import { pageOf } from '../../core/contract/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import type { ProviderCustomer } from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { subscriptionsOf } from '../marketplace/index.ts'
import { orProblem } from '../payments/index.ts'
import { existingTenant, type TenantRecord, tenantsAfter } from '../tenants/index.ts'
import { withoutAccepted } from './accept-difference.ts'
import type { BillingDeps } from './deps.ts'
import { ofSubscriptions } from './reconcile-subscriptions.ts'
import { ofModules, ofPlanned, ofUsage, ofWaived } from './reconcile-usage.ts'
import { ofVendorsAndItems } from './reconcile-vendors.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'log'>
type Query = Readonly<{ cursor?: string | undefined; limit: number; tenant?: string | undefined }>

/** Proxies end a request after a minute, and a tenant takes several calls. */
const maxPageMs = 20_000

/**
 * Compares one tenant, or a page of tenants that ends after 20 seconds; the first page also has items, vendors and payouts. Changes nothing. Throws
 * PAYMENTS_UNAVAILABLE, NOT_FOUND.
 */
export async function reconcilePage(deps: Deps, { cursor, limit, tenant }: Query) {
  const only = tenant === undefined ? undefined : await existingTenant(deps.db, tenant)
  if (deps.provider.name === 'none')
    throw problem(
      'PAYMENTS_UNAVAILABLE',
      'The platform has no payment provider, so there is nothing to compare. fix: set TENANTRY_STRIPE_SECRET_KEY',
    )
  const startedMs = deps.clock.monotonicMs()
  const found = only ? [only] : await tenantsAfter(deps.db, { after: cursor, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ slug }) => slug)
  const differences: Difference[] = []
  let checked = 0
  await orProblem(async () => {
    if (cursor === undefined && tenant === undefined) differences.push(...(await ofVendorsAndItems(deps)))
    for (const one of page) {
      if (checked > 0 && deps.clock.monotonicMs() - startedMs >= maxPageMs) break
      differences.push(...(await ofTenant(deps, one)))
      checked++
    }
  })
  const open = await withoutAccepted(deps, differences)
  const end = checked < page.length ? (page[checked - 1]?.slug ?? null) : nextCursor
  return { differences: open, accepted: differences.length - open.length, checked, nextCursor: end }
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
  const page = await reconcilePage(deps, { cursor: after, limit: pageSize })
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
    return rows
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
      )
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
    ]
  const all = await provider.listSubscriptions(customerId)
  const found = [...ofAddress(tenant, customer), ...(await ofSubscriptions(deps, tenant, { rows, all }))]
  const invoices = await provider.listInvoices({ customerId })
  found.push(
    ...(await ofUsage(deps, tenant, invoices)),
    ...(await ofModules(deps, tenant, invoices)),
    ...(await ofWaived(deps, tenant, invoices)),
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
