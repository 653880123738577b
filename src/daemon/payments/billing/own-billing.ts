import { monthOf, type OwnBilling, type OwnInvoice } from '../../../core/billing/index.ts'
import { pageEnd, pageOf, readPageEnd } from '../../../core/contract/index.ts'
import { isoNow, type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import type { ListedInvoice } from '../../../core/payments/index.ts'
import { findItem, type SubscriptionRecord, subscriptionsOf } from '../../marketplace/index.ts'
import { existingTenant } from '../../tenants/index.ts'
import { tenantOfInvoice } from '../follow-invoice.ts'
import { orProblem } from '../problems.ts'
import { billsUrlOf } from './bills-url.ts'
import { createPaymentCustomer } from './customers.ts'
import type { BillingDeps } from './deps.ts'
import { previewOf } from './preview.ts'

type Deps = BillingDeps & Pick<Parameters<typeof createPaymentCustomer>[0], 'changeTenant'>

/** Plan, present charges and paid items of the caller's tenant. It calls no provider. */
export async function showOwnBilling(deps: Deps, { tenantId, tenantSlug }: PlatformPrincipal): Promise<OwnBilling> {
  const { db, clock, provider, activeUsers } = deps
  const tenant = await existingTenant(db, tenantSlug)
  const row = await db.selectFrom('tenant_billing').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst()
  await activeUsers.flush()
  const { tenant: _, ...next } = await previewOf(deps, tenant, monthOf(isoNow(clock)))
  return {
    plan: { name: tenant.plan, subscription: row ? { status: row.status, currentPeriodEnd: row.current_period_end } : null },
    billingEmail: tenant.billingEmail,
    hasProvider: provider.name !== 'none',
    next,
    subscriptions: await paidSubscriptions(deps, tenantId),
  }
}

async function paidSubscriptions({ db, clock }: Pick<Deps, 'db' | 'clock'>, tenantId: string): Promise<OwnBilling['subscriptions']> {
  const now = isoNow(clock)
  const paid: OwnBilling['subscriptions'] = []
  for (const one of await subscriptionsOf(db, { tenantId })) {
    const { id, itemId, status, paymentStatus, paidUntil: periodEnd } = one
    const price = priceOf(one)
    if (!price || (status === 'cancelled' && (periodEnd ?? '') <= now)) continue
    const name = (await findItem(db, itemId))?.name ?? itemId
    paid.push({ id, itemId, name, status, paymentStatus, ...price, periodEnd })
  }
  return paid
}

const priceOf = ({ priceModel, priceCents, currency }: SubscriptionRecord) =>
  priceModel !== null && priceCents !== null && currency !== null ? { priceModel, priceCents, currency } : undefined

type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/** A page of the final invoices of the caller's tenant, newest first: its customer may have been another tenant's before. Throws PAYMENTS_UNAVAILABLE, VALIDATION for an invalid cursor. */
export async function listOwnInvoices({ db, provider }: Pick<Deps, 'db' | 'provider'>, actor: PlatformPrincipal, { cursor, limit }: Page) {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const { paymentCustomerId: customerId } = await existingTenant(db, actor.tenantSlug)
  if (customerId === null) return { invoices: [], nextCursor: null }
  const all = (await orProblem(() => provider.listInvoices({ customerId })))
    .flatMap((invoice) => invoiceView(invoice).map((view) => ({ view, invoice })))
    .sort((one, other) => newestFirst(one.view, other.view))
  const own: OwnInvoice[] = []
  for (const { view, invoice } of all) {
    if (own.length > limit) break
    if (after && newestFirst(after, view) >= 0) continue
    if ((await tenantOfInvoice(db, invoice))?.id === actor.tenantId) own.push(view)
  }
  const { page, nextCursor } = pageOf(own, limit, pageEnd)
  return { invoices: page, nextCursor }
}

type Placed = Pick<OwnInvoice, 'createdAt' | 'id'>
const placeOf = ({ createdAt, id }: Placed): string => `${createdAt} ${id}`
const newestFirst = (one: Placed, other: Placed): number => (placeOf(one) > placeOf(other) ? -1 : 1)

/** A draft may still change, and has no page yet. */
function invoiceView(invoice: ListedInvoice): OwnInvoice[] {
  const { id, number, status, createdAt, finalizedAt, dueAt, total, taxCents, paidCents, pageUrl, pdfUrl } = invoice
  if (status === 'draft') return []
  const amounts = { totalCents: total.cents, taxCents, paidCents, currency: total.currency }
  return [{ id, number, status, createdAt: finalizedAt ?? createdAt, dueAt, ...amounts, pageUrl, pdfUrl }]
}

type Asked = Readonly<{ billingEmail?: string | undefined }>

/** Makes a link to the hosted page for the means of payment, and the payment customer where there is none. Throws CONFLICT, PAYMENTS_UNAVAILABLE. */
export async function openPaymentPage(deps: Deps, actor: PlatformPrincipal, { billingEmail }: Asked) {
  const { tenantSlug: slug } = actor
  if (billingEmail === undefined && (await existingTenant(deps.db, slug)).billingEmail === null)
    throw problem('CONFLICT', 'Your organisation has no mail address for invoices. fix: send one as billingEmail')
  const { setupUrl, expiresAt } = await createPaymentCustomer(deps, actor, { slug, billingEmail, returnUrl: billsUrlOf(deps.baseUrl) })
  return { url: setupUrl, expiresAt }
}
