import { acceptFix, type Difference, difference, planOf } from '../../core/billing/index.ts'
import { isLive, moneyText, type ProviderSubscription, paymentStatusOf } from '../../core/payments/index.ts'
import { findItem, type SubscriptionRecord } from '../marketplace/index.ts'
import { isLinked, payoutOfItem } from '../payments/index.ts'
import type { TenantRecord } from '../tenants/index.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'provider'>

/** Subscriptions of items and of the plan against those of the customer at the provider. */
export async function ofSubscriptions(deps: Deps, tenant: TenantRecord, { rows, all }: Compared): Promise<Difference[]> {
  const { slug } = tenant
  const byId = new Map(all.map((one) => [one.id, one]))
  const found: Difference[] = []
  for (const row of rows) found.push(...(await ofSubscription(deps, slug, { row, there: byId.get(row.paymentSubscriptionId as string) })))
  const known = new Set(rows.map(({ paymentSubscriptionId }) => paymentSubscriptionId))
  for (const one of all.filter((sub) => isLive(sub) && sub.metadata.svc_kind === 'item' && !known.has(sub.id)))
    if (!(await isBeingInstalled(deps, one)) && !(await isOfFormerInstallation(deps, one)))
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
  return found
}

type Compared = Readonly<{ rows: readonly SubscriptionRecord[]; all: readonly ProviderSubscription[] }>

const isBeingInstalled = async ({ db }: Pick<Deps, 'db'>, { metadata }: ProviderSubscription): Promise<boolean> =>
  (await db
    .selectFrom('payment_attempts')
    .select('id')
    .where('id', '=', metadata.svc_attempt ?? '')
    .where('finished_at', 'is', null)
    .executeTakeFirst()) !== undefined

/** Uninstalled, and the item was installed free or by another subscription since: it ends with its paid period. */
const isOfFormerInstallation = async ({ db }: Pick<Deps, 'db'>, { id, cancelAtPeriodEnd }: ProviderSubscription): Promise<boolean> =>
  cancelAtPeriodEnd && (await isLinked(db, id))

async function ofSubscription(
  { db, provider }: Deps,
  slug: string,
  { row, there }: Readonly<{ row: SubscriptionRecord; there: ProviderSubscription | undefined }>,
): Promise<Difference[]> {
  const id = row.paymentSubscriptionId as string
  // A former customer of the tenant may pay for it.
  const elsewhere = there ? null : await provider.getSubscription(id)
  if (row.status === 'cancelled') return ofCancelled(slug, id, there ?? elsewhere)
  if (elsewhere && isLive(elsewhere))
    return [
      difference(
        'subscription_missing',
        { subject: slug, id },
        {
          ...{ here: `${row.itemId} is installed`, there: `${elsewhere.status}, belongs to customer ${elsewhere.customerId}` },
          fix: `tenantry tenants update ${slug} --payment-customer ${elsewhere.customerId}, or ${acceptFix('subscription_missing', id, slug)}`,
        },
      ),
    ]
  if (!there || !isLive(there))
    return [
      difference(
        'subscription_missing',
        { subject: slug, id },
        {
          ...{ here: `${row.itemId} is installed`, there: there ? there.status : 'unknown' },
          fix: `tenantry webhooks list --type customer.subscription.deleted, then replay the event; without one, ${acceptFix('subscription_missing', id, slug)}`,
        },
      ),
    ]
  const found: Difference[] = []
  if (there.cancelAtPeriodEnd)
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
  if (there.priceId !== row.paymentPriceId) {
    const price = await provider.getPrice(there.priceId)
    found.push(
      difference(
        'price_differs',
        { subject: slug, id },
        {
          here: `${row.paymentPriceId}, ${moneyText({ cents: row.priceCents ?? 0, currency: row.currency ?? '' })}`,
          there: `${there.priceId}${price ? `, ${moneyText(price.unit)}` : ''}`,
          fix: `set the price back in the Dashboard of the provider, or ${acceptFix('price_differs', id, slug)}`,
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
          fix: `tenantry webhooks list, then replay an event of the subscription; without one, ${acceptFix('payment_status_differs', id, slug)}`,
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
          fix: termsFix({ id, slug, vendorId: item.vendorId, isTaxed: there.isTaxed && terms !== null }),
        },
      ),
    )
  return found
}

/** Uninstalled items of a tenant that has no customer now: a former one may still be charged. */
export async function ofCancelledRows({ provider }: Pick<Deps, 'provider'>, slug: string, rows: readonly SubscriptionRecord[]) {
  const found: Difference[] = []
  for (const { status, paymentSubscriptionId: id } of rows)
    if (status === 'cancelled' && id !== null) found.push(...ofCancelled(slug, id, await provider.getSubscription(id)))
  return found
}

/** An uninstalled item whose subscription does not end, at the present or a former customer of the tenant. */
const ofCancelled = (slug: string, id: string, found: ProviderSubscription | null): Difference[] =>
  found && isLive(found) && !found.cancelAtPeriodEnd
    ? [
        difference(
          'subscription_continues',
          { subject: slug, id },
          {
            ...{ here: 'cancelled', there: `continues and charges the customer ${found.customerId}` },
            fix: 'tenantry jobs list --topic payments.cancellation, or cancel it in the Dashboard of the provider',
          },
        ),
      ]
    : []

type Terms = Readonly<{ id: string; slug: string; vendorId: string | null; isTaxed: boolean }>

/** A subscription with tax is never changed to pay a vendor. */
function termsFix({ id, slug, vendorId, isTaxed }: Terms): string {
  const accept = acceptFix('terms_differ', id, slug)
  if (isTaxed) return `the tenant uninstalls the item and installs it again after the end of its period, or ${accept}`
  if (vendorId) return `tenantry marketplace vendors sync ${vendorId}, which sends the terms again`
  return `set the destination back at the provider, or ${accept}`
}

async function ofPlan({ db }: Deps, { id, slug, plan }: TenantRecord, all: readonly ProviderSubscription[]): Promise<Difference[]> {
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
          fix:
            row && own && isLive(own)
              ? 'cancel one of them at the provider'
              : `tenantry webhooks list --type customer.subscription.created, then replay the newest event of this subscription; without one, ${acceptFix('plan_differs', one.id, slug)}`,
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
          fix: `tenantry webhooks list, then replay an event of the subscription; without one, ${acceptFix('plan_differs', row.subscription_id, slug)}`,
        },
      ),
    )
  if (own && isLive(own) && planOf(own) === null)
    found.push(
      difference(
        'plan_differs',
        { subject: slug, id: own.id },
        {
          ...{ here: `plan ${plan}`, there: `${own.status}, svc_plan=${own.metadata.svc_plan ?? ''} is no plan` },
          fix: 'set svc_plan to light, pro or dedicated in the metadata of the subscription in the Dashboard of the provider',
        },
      ),
    )
  return found
}
