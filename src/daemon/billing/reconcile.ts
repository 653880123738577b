import { alertOf } from '../../core/alerts/index.ts'
import type { Difference, DifferenceKind } from '../../core/billing/index.ts'
import { pageOf } from '../../core/contract/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import {
  accountStateOf,
  isLive,
  moneyText,
  type ProviderInvoice,
  type ProviderSubscription,
  paymentStatusOf,
} from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { findItem, type SubscriptionRecord, subscriptionsOf, vendorsOf } from '../marketplace/index.ts'
import { orProblem, payoutOfItem } from '../payments/index.ts'
import { type TenantRecord, tenantsAfter } from '../tenants/index.ts'
import { usageCents } from './claim-usage.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'log'>
type Query = Readonly<{ cursor?: string | undefined; limit: number }>

/** Compares a page of tenants; the first page also has items, vendors and payouts. Changes nothing. Throws PAYMENTS_UNAVAILABLE. */
export async function reconcilePage(deps: Deps, { cursor, limit }: Query) {
  if (deps.provider.name === 'none')
    throw problem(
      'PAYMENTS_UNAVAILABLE',
      'The platform has no payment provider, so there is nothing to compare. fix: set TENANTRY_STRIPE_SECRET_KEY',
    )
  const { page, nextCursor } = pageOf(await tenantsAfter(deps.db, { after: cursor, limit: limit + 1 }), limit, ({ slug }) => slug)
  const differences: Difference[] = []
  await orProblem(async () => {
    if (cursor === undefined) differences.push(...(await ofVendors(deps)), ...(await ofItems(deps)), ...(await ofPayouts(deps)))
    for (const tenant of page) differences.push(...(await ofTenant(deps, tenant)))
  })
  return { differences, checked: page.length, nextCursor }
}

const batch = 50

/** Compares everything and raises one alert, or closes it. */
export async function reconcileAll(deps: Deps, signal: AbortSignal): Promise<string> {
  if (deps.provider.name === 'none') return 'no payment provider'
  let count = 0
  let checked = 0
  let first: Difference | undefined
  for (let cursor: string | undefined, isMore = true; isMore && !signal.aborted; ) {
    const page = await reconcilePage(deps, { cursor, limit: batch })
    count += page.differences.length
    checked += page.checked
    first ??= page.differences[0]
    cursor = page.nextCursor ?? undefined
    isMore = page.nextCursor !== null
  }
  if (signal.aborted) return 'stopped'
  await deps.db.transaction().execute(async (tx) => {
    if (first)
      await raiseAlert(tx, deps.clock, alertOf.billing_differs({ count, first: `${first.kind} of ${first.subject} (${first.id})` }))
    else await closeAlerts(tx, deps.clock, { subject: 'billing', kinds: ['billing_differs'], because: 'nothing differs any more' })
  })
  return `${plural(count, 'difference')} in ${plural(checked, 'tenant')}`
}

type Text = Readonly<{ here: string; there: string; fix: string }>

const difference = (kind: DifferenceKind, { subject, id }: Readonly<{ subject: string; id: string }>, text: Text): Difference => ({
  kind,
  subject,
  id,
  ...text,
})

async function ofTenant(deps: Deps, tenant: TenantRecord): Promise<Difference[]> {
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
  if (!(await provider.getCustomer(customerId)))
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
  const byId = new Map(all.map((one) => [one.id, one]))
  const found: Difference[] = []
  for (const row of rows) found.push(...(await ofSubscription(deps, slug, { row, there: byId.get(row.paymentSubscriptionId as string) })))
  const known = new Set(rows.map(({ paymentSubscriptionId }) => paymentSubscriptionId))
  for (const one of all.filter((sub) => isLive(sub) && sub.metadata.svc_kind === 'item' && !known.has(sub.id)))
    if (!(await isBeingInstalled(deps, one)))
      found.push(
        difference(
          'subscription_unknown',
          { subject: slug, id: one.id },
          {
            ...{ here: 'no item is installed with it', there: `${one.status}, item ${one.metadata.svc_item ?? 'unknown'}` },
            fix: 'cancel it in the Dashboard of the provider, and refund what it charged',
          },
        ),
      )
  found.push(...(await ofPlan(deps, tenant, all)))
  const invoices = await provider.listInvoices({ customerId })
  found.push(...(await ofUsage(deps, tenant, invoices)), ...(await ofModules(deps, tenant, invoices)))
  return found
}

const isBeingInstalled = async ({ db }: Deps, { metadata }: ProviderSubscription): Promise<boolean> =>
  (await db
    .selectFrom('payment_attempts')
    .select('id')
    .where('id', '=', metadata.svc_attempt ?? '')
    .where('finished_at', 'is', null)
    .executeTakeFirst()) !== undefined

async function ofSubscription(
  { db, provider }: Deps,
  slug: string,
  { row, there }: Readonly<{ row: SubscriptionRecord; there: ProviderSubscription | undefined }>,
): Promise<Difference[]> {
  const id = row.paymentSubscriptionId as string
  if (!there || !isLive(there))
    return row.status === 'active'
      ? [
          difference(
            'subscription_missing',
            { subject: slug, id },
            {
              ...{ here: `${row.itemId} is installed`, there: there ? there.status : 'unknown' },
              fix: 'tenantry webhooks list --type customer.subscription.deleted, then replay the event; or uninstall the item',
            },
          ),
        ]
      : []
  const found: Difference[] = []
  if (row.status === 'cancelled' && !there.cancelAtPeriodEnd)
    found.push(
      difference(
        'subscription_continues',
        { subject: slug, id },
        {
          ...{ here: 'cancelled', there: 'continues and charges the tenant' },
          fix: 'tenantry jobs list --topic payments.cancellation, or cancel it in the Dashboard of the provider',
        },
      ),
    )
  if (row.status === 'active' && there.cancelAtPeriodEnd)
    found.push(
      difference(
        'subscription_ends',
        { subject: slug, id },
        {
          ...{ here: 'installed', there: `ends on ${there.currentPeriodEnd}` },
          fix: 'remove the cancellation in the Dashboard of the provider, or uninstall the item',
        },
      ),
    )
  if (row.status !== 'active') return found
  if (there.priceId !== row.paymentPriceId) {
    const price = await provider.getPrice(there.priceId)
    found.push(
      difference(
        'price_differs',
        { subject: slug, id },
        {
          here: `${row.paymentPriceId}, ${moneyText({ cents: row.priceCents ?? 0, currency: row.currency ?? '' })}`,
          there: `${there.priceId}${price ? `, ${moneyText(price.unit)}` : ''}`,
          fix: 'set the price back in the Dashboard of the provider',
        },
      ),
    )
  }
  if (paymentStatusOf(there) !== row.paymentStatus)
    found.push(
      difference(
        'payment_status_differs',
        { subject: slug, id },
        {
          ...{ here: row.paymentStatus, there: there.status },
          fix: 'tenantry webhooks list, then replay the newest event of the subscription',
        },
      ),
    )
  const item = await findItem(db, row.itemId)
  const terms = item && (await payoutOfItem(db, item))
  if (
    item &&
    (there.destination !== (terms?.destination ?? null) || there.applicationFeePercent !== (terms?.applicationFeePercent ?? null))
  )
    found.push(
      difference(
        'terms_differ',
        { subject: slug, id },
        {
          here: terms ? `${terms.destination}, fee ${terms.applicationFeePercent} %` : 'paid to the platform',
          there: there.destination ? `${there.destination}, fee ${there.applicationFeePercent ?? 0} %` : 'paid to the platform',
          fix: 'tenantry jobs list --topic payments.subscription-terms; a changed fee is sent again',
        },
      ),
    )
  return found
}

async function ofPlan({ db }: Deps, { id, slug }: TenantRecord, all: readonly ProviderSubscription[]): Promise<Difference[]> {
  const row = await db.selectFrom('tenant_billing').selectAll().where('tenant_id', '=', id).executeTakeFirst()
  const plans = all.filter((one) => one.metadata.svc_kind === 'plan' && isLive(one) && one.status !== 'incomplete')
  const own = row && all.find((one) => one.id === row.subscription_id)
  const found = plans
    .filter((one) => one.id !== row?.subscription_id)
    .map((one) =>
      difference(
        'plan_differs',
        { subject: slug, id: one.id },
        {
          ...{
            here: row ? `the subscription of the plan is ${row.subscription_id}` : 'the tenant has no subscription of a plan',
            there: one.status,
          },
          fix: row
            ? 'cancel one of them at the provider'
            : 'tenantry webhooks list --type customer.subscription.created, then replay the event',
        },
      ),
    )
  if (row && isLive({ status: row.status as ProviderSubscription['status'] }) && own?.status !== row.status)
    found.push(
      difference(
        'plan_differs',
        { subject: slug, id: row.subscription_id },
        {
          ...{ here: row.status, there: own?.status ?? 'unknown' },
          fix: 'tenantry webhooks list, then replay the newest event of the subscription',
        },
      ),
    )
  return found
}

/** Users that were reported against what final invoices charge for them. */
async function ofUsage({ db, clock }: Deps, { id, slug }: TenantRecord, invoices: readonly ProviderInvoice[]): Promise<Difference[]> {
  const reports = await db.selectFrom('billing_reports').selectAll().where('tenant_id', '=', id).execute()
  const found = reports
    .filter(({ sent_at, created_at }) => sent_at === null && Date.parse(created_at) < clock.now().getTime() - 86_400_000)
    .map((row) =>
      difference(
        'usage_not_sent',
        { subject: slug, id: row.id },
        {
          ...{ here: `${row.quantity} users of ${row.month}, not sent since ${row.created_at}`, there: 'unknown' },
          fix: 'tenantry crons run marketplace-monthly-billing',
        },
      ),
    )
  for (const invoice of invoices) {
    if (invoice.finalizedAt === null || invoice.status === 'void' || invoice.createdAt < invoice.periodEnd) continue
    const own = reports.filter(
      (row) =>
        row.payment_subscription_id === invoice.subscriptionId &&
        row.sent_at !== null &&
        row.event_at >= invoice.periodStart &&
        row.event_at < invoice.periodEnd,
    )
    const owed = own.reduce((sum, row) => sum + row.quantity * row.unit_cents - row.claimed_cents, 0)
    const charged = usageCents(invoice)
    if (own.length > 0 && owed !== charged)
      found.push(
        difference(
          'usage_not_invoiced',
          { subject: slug, id: invoice.id },
          {
            here: `${own.map(({ quantity, month }) => `${quantity} users of ${month}`).join(', ')}: ${moneyText({ ...invoice.total, cents: owed })}`,
            there: moneyText({ ...invoice.total, cents: charged }),
            fix:
              owed > charged
                ? 'add an invoice item in the Dashboard of the provider'
                : 'refund the difference in the Dashboard of the provider',
          },
        ),
      )
  }
  return found
}

async function ofModules({ db, provider }: Deps, { id, slug }: TenantRecord, invoices: readonly ProviderInvoice[]): Promise<Difference[]> {
  const rows = await db
    .selectFrom('billing_usage as u')
    .leftJoin('billing_payouts as p', 'p.id', 'u.payout_id')
    .selectAll('u')
    .select('p.state as payout_state')
    .where('u.tenant_id', '=', id)
    .where('u.state', 'in', ['billed', 'paid', 'refunded'])
    .execute()
  const byId = new Map(invoices.map((one) => [one.id, one]))
  const found: Difference[] = []
  for (const row of rows) {
    const invoice = byId.get(row.invoice_id ?? '') ?? (row.invoice_id ? await provider.getInvoice(row.invoice_id) : null)
    const line = invoice?.lines.find(({ invoiceItemId }) => invoiceItemId === row.invoice_item_id)
    const here = `${row.module_id} in ${row.month}: ${moneyText({ cents: row.price_cents, currency: row.currency })}`
    if (!invoice || invoice.status === 'void' || (line && line.cents !== row.price_cents) || (!line && invoice.lines.length < 10))
      found.push(
        difference(
          'module_not_invoiced',
          { subject: slug, id: row.id },
          {
            ...{
              here,
              there: invoice
                ? line
                  ? moneyText({ cents: line.cents, currency: row.currency })
                  : `not on ${invoice.id} (${invoice.status})`
                : 'no invoice',
            },
            fix: 'add an invoice item in the Dashboard of the provider',
          },
        ),
      )
    else if ((invoice.refundedCents > 0 || invoice.isDisputed) && row.payout_state !== null && row.payout_state !== 'waiting')
      found.push(
        difference(
          'module_refunded',
          { subject: slug, id: row.id },
          {
            ...{
              here: `${here}, in the statement ${row.payout_id}`,
              there: invoice.isDisputed ? 'disputed' : `${moneyText({ cents: invoice.refundedCents, currency: row.currency })} refunded`,
            },
            fix: 'take the share of the developer back, or deduct it by hand',
          },
        ),
      )
  }
  return found
}

async function ofPayouts({ db, provider }: Deps): Promise<Difference[]> {
  const rows = await db.selectFrom('billing_payouts').selectAll().where('state', '=', 'transferred').orderBy('id').execute()
  const byDestination = new Map<string, Awaited<ReturnType<typeof provider.listTransfers>>>()
  const found: Difference[] = []
  for (const row of rows) {
    const destination = row.destination ?? ''
    const transfers = byDestination.get(destination) ?? (await provider.listTransfers(destination))
    byDestination.set(destination, transfers)
    const transfer = transfers.find(({ id }) => id === row.transfer_id)
    const here = `${moneyText({ cents: row.net_cents, currency: row.currency })} for ${row.month}`
    if (!transfer)
      found.push(
        difference(
          'transfer_missing',
          { subject: row.developer_id, id: row.id },
          {
            here,
            there: 'no transfer',
            fix: 'transfer it in the Dashboard of the provider',
          },
        ),
      )
    else if (transfer.amount.cents - transfer.reversedCents !== row.net_cents)
      found.push(
        difference(
          'transfer_differs',
          { subject: row.developer_id, id: row.id },
          {
            ...{
              here,
              there: `${moneyText(transfer.amount)}, ${moneyText({ ...transfer.amount, cents: transfer.reversedCents })} reversed`,
            },
            fix: 'clarify it with the developer',
          },
        ),
      )
  }
  return found
}

async function ofVendors({ db, provider }: Deps): Promise<Difference[]> {
  const found: Difference[] = []
  for (const vendor of await vendorsOf(db, { limit: maxVendors })) {
    if (vendor.paymentAccountId === null) continue
    const account = await provider.getAccount(vendor.paymentAccountId)
    const there = account ? accountStateOf(account, vendor.paymentAccountStatus) : 'unknown'
    if (there !== vendor.paymentAccountStatus)
      found.push(
        difference(
          'account_differs',
          { subject: vendor.id, id: vendor.paymentAccountId },
          {
            ...{ here: vendor.paymentAccountStatus, there },
            fix: `tenantry marketplace vendors sync ${vendor.id}`,
          },
        ),
      )
  }
  return found
}

/** More vendors than a platform has. */
const maxVendors = 10_000

async function ofItems({ db, provider }: Deps): Promise<Difference[]> {
  const rows = await db
    .selectFrom('marketplace_items')
    .select(['id', 'slug', 'price_cents', 'currency', 'payment_price_id'])
    .where('payment_price_id', 'is not', null)
    .execute()
  const found: Difference[] = []
  for (const row of rows) {
    const price = await provider.getPrice(row.payment_price_id as string)
    if (price?.active && price.unit.cents === row.price_cents && price.unit.currency === row.currency) continue
    found.push(
      difference(
        'item_price_differs',
        { subject: row.slug, id: row.payment_price_id as string },
        {
          here: moneyText({ cents: row.price_cents ?? 0, currency: row.currency ?? '' }),
          there: price ? `${moneyText(price.unit)}${price.active ? '' : ', inactive'}` : 'unknown',
          fix: `activate it in the Dashboard of the provider, or set the price again: tenantry marketplace items update ${row.id} --price …`,
        },
      ),
    )
  }
  return found
}
