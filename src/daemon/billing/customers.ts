import type { TenantBilling } from '../../core/billing/index.ts'
import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import type { ProviderCustomer } from '../../core/payments/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { JobHandler } from '../db/index.ts'
import { createOnce, orProblem, returnUrlsOf } from '../payments/index.ts'
import { existingTenant, type TenantRecord, tenantById } from '../tenants/index.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'baseUrl'> &
  Readonly<{
    /** Changes a tenant as an operator does. */
    changeTenant(actor: Actor, change: Readonly<{ slug: string; paymentCustomerId?: string; billingEmail?: string }>): Promise<unknown>
  }>

/** Throws NOT_FOUND. */
export async function showTenantBilling({ db }: Pick<Deps, 'db'>, { slug }: Readonly<{ slug: string }>): Promise<TenantBilling> {
  const { id, paymentCustomerId, billingEmail } = await existingTenant(db, slug)
  const row = await db.selectFrom('tenant_billing').selectAll().where('tenant_id', '=', id).executeTakeFirst()
  const plan = row && { subscriptionId: row.subscription_id, status: row.status, plan: row.plan, currentPeriodEnd: row.current_period_end }
  return { tenant: slug, paymentCustomerId, billingEmail, plan: plan ?? null }
}

/** `returnUrl`: where the hosted page leads to when it is left. */
type Input = Readonly<{ slug: string; billingEmail?: string | undefined; returnUrl?: string | undefined }>

/**
 * Creates the customer of a tenant, or keeps the one it has, and makes a link to the hosted page for its means of payment. Throws NOT_FOUND, CONFLICT
 * without a billing address, PAYMENTS_UNAVAILABLE.
 */
export async function createPaymentCustomer(deps: Deps, actor: Actor, { slug, billingEmail, returnUrl }: Input) {
  const { db, clock, provider, baseUrl } = deps
  const tenant = await existingTenant(db, slug)
  const email = billingEmail ?? tenant.billingEmail
  if (email === null)
    throw problem('CONFLICT', `${slug} has no billing address. fix: tenantry tenants billing ${slug} --create-customer --email <address>`)
  const link = await orProblem(async () => {
    // A provider that refuses changes nothing here, the address included.
    const customerId = await ensureCustomer(deps, { tenant, email })
    await storeCustomer(deps, actor, { tenant, customerId, email })
    return provider.createSetupLink({ customerId, returnUrl: returnUrl ?? returnUrlsOf({ baseUrl }).returnUrl })
  })
  await db
    .transaction()
    .execute((tx) => recordAudit(tx, clock, { actor, action: 'payment.setup-link', subject: slug, data: { at: isoNow(clock) } }))
  return { ...(await showTenantBilling(deps, { slug })), setupUrl: link.url, expiresAt: link.expiresAt }
}

type Addressed = Readonly<{ tenant: TenantRecord; email: string }>

async function ensureCustomer(deps: Deps, { tenant, email }: Addressed): Promise<string> {
  const { provider } = deps
  const { id, name, paymentCustomerId } = tenant
  const known = paymentCustomerId === null ? null : await provider.getCustomer(paymentCustomerId)
  if (known) {
    await sendAddress(deps, { known, email })
    return known.id
  }
  const input = { name, email, metadata: { svc_tenant: id } }
  // A former customer that was deleted is part of the key.
  const key = `customer:${id}:${paymentCustomerId ?? 'none'}:${email}`
  const created = await createOnce(
    key,
    (one) => provider.createCustomer({ key: one, ...input }),
    async () => null,
  )
  return created.id
}

async function storeCustomer(
  { changeTenant }: Pick<Deps, 'changeTenant'>,
  actor: Actor,
  { tenant, customerId, email }: Addressed & Readonly<{ customerId: string }>,
): Promise<void> {
  const { slug, paymentCustomerId, billingEmail } = tenant
  if (customerId === paymentCustomerId && email === billingEmail) return
  await changeTenant(actor, {
    slug,
    ...(customerId !== paymentCustomerId && { paymentCustomerId: customerId }),
    ...(email !== billingEmail && { billingEmail: email }),
  })
}

async function sendAddress(
  { provider, clock }: Pick<Deps, 'provider' | 'clock'>,
  { known: { id, email: former }, email }: Readonly<{ known: ProviderCustomer; email: string | null }>,
): Promise<void> {
  if (former !== email) await provider.updateCustomer({ key: `customer:${id}:${isoNow(clock)}`, id, email })
}

/** Sends a changed or removed billing address to the customer of the tenant: the provider mails its invoices there. */
export const sendBillingAddress =
  (deps: Pick<Deps, 'db' | 'clock' | 'provider'>): JobHandler =>
  async (payload) => {
    const { tenantId } = payload as { tenantId: string }
    const tenant = await tenantById(deps.db, tenantId)
    if (deps.provider.name === 'none' || !tenant?.paymentCustomerId) return
    const known = await deps.provider.getCustomer(tenant.paymentCustomerId)
    if (known) await sendAddress(deps, { known, email: tenant.billingEmail })
  }
