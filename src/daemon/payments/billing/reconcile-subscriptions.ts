import { type Difference, planOf } from '../../../core/billing/index.ts'
import { isLive, moneyText, type ProviderSubscription, paymentStatusOf } from '../../../core/payments/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { findItem, type SubscriptionRecord } from '../../marketplace/index.ts'
import type { TenantRecord } from '../../tenants/index.ts'
import { isLinked } from '../attempts.repo.ts'
import { payoutOf as payoutOfItem } from '../terms.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'provider'>
/** `all`: the subscriptions of the customer. A former customer may pay for an item too. */
type Compared = Readonly<{ rows: readonly SubscriptionRecord[]; all: readonly ProviderSubscription[] }>
type Pair = Readonly<{ row: SubscriptionRecord; there: ProviderSubscription }>

const resend = 'without one, resend it in the Dashboard of the provider'
const replay = `tenantry webhooks list, then replay an event of the subscription; ${resend}`

/** Items that have or had a price, each with its subscription. */
export async function ofItems(deps: Deps, tenant: TenantRecord, { rows, all }: Compared): Promise<Difference[]> {
  const found: Difference[] = []
  for (const row of rows) {
    const id = row.paymentSubscriptionId as string
    const there = all.find((one) => one.id === id) ?? (await deps.provider.getSubscription(id))
    const of = { subject: tenant.slug, id }
    if (row.status === 'cancelled') found.push(...ofCancelled(of, there))
    else if (!there || !isLive(there) || there.customerId !== tenant.paymentCustomerId) found.push(missing(of, row, there))
    else
      found.push(
        ...(await ofPrice(deps, of, { row, there })),
        ...ofStatus(of, { row, there }),
        ...(await ofWithdrawn(deps, of, { row, there })),
      )
  }
  return found
}

type Of = Readonly<{ subject: string; id: string }>

/** An uninstalled item whose subscription does not end. */
const ofCancelled = (of: Of, there: ProviderSubscription | null): Difference[] =>
  there && isLive(there) && !there.cancelAtPeriodEnd
    ? [
        {
          kind: 'subscription_unknown',
          ...{ ...of, here: 'cancelled', there: `continues and charges the customer ${there.customerId}` },
          fix: 'tenantry jobs list --topic payments.cancellation, or cancel it in the Dashboard of the provider',
        },
      ]
    : []

/** A subscription of a withdrawn item that does not end. */
async function ofWithdrawn({ db }: Deps, of: Of, { row, there }: Pair): Promise<Difference[]> {
  if (there.cancelAtPeriodEnd || !(await findItem(db, row.itemId))?.withdrawnAt) return []
  return [
    {
      kind: 'subscription_unknown',
      ...{ ...of, here: `${row.itemId} is withdrawn by its vendor`, there: 'continues after its period' },
      fix: 'tenantry jobs list --topic payments.withdrawal, or let it end with its period in the Dashboard of the provider',
    },
  ]
}

function missing(of: Of, { itemId }: SubscriptionRecord, there: ProviderSubscription | null): Difference {
  const named = { kind: 'subscription_missing', ...of, here: `${itemId} is installed` } as const
  if (!there || !isLive(there))
    return {
      ...{ ...named, there: there?.status ?? 'unknown' },
      fix: `tenantry webhooks list --type customer.subscription.deleted, then replay the event; ${resend}, or the tenant uninstalls the item`,
    }
  return {
    ...{ ...named, there: `${there.status}, belongs to customer ${there.customerId}` },
    fix: `tenantry tenants update ${of.subject} --payment-customer ${there.customerId}, or the tenant uninstalls the item and installs it again`,
  }
}

/** The price, and who is paid: a wrong destination or fee loses money of the vendor or of the platform. */
async function ofPrice({ db, provider }: Deps, of: Of, { row, there }: Pair): Promise<Difference[]> {
  const item = await findItem(db, row.itemId)
  const terms = item ? await payoutOfItem(db, item) : there
  const isSamePrice = there.priceId === row.paymentPriceId
  const isSamePayee = there.destination === (terms?.destination ?? null)
  if (isSamePrice && isSamePayee && there.applicationFeePercent === (terms?.applicationFeePercent ?? null)) return []
  const price = await provider.getPrice(there.priceId)
  const isTaxed = there.isTaxed && terms !== null
  return [
    {
      kind: 'price_differs',
      ...of,
      here: `${row.paymentPriceId}, ${moneyText({ cents: row.priceCents ?? 0, currency: row.currency ?? '' })}, ${payeeText(terms)}`,
      there: `${there.priceId}${price ? `, ${moneyText(price.unit)}` : ''}, ${payeeText(there)}`,
      fix: isSamePrice ? termsFix(item?.vendorId ?? null, isTaxed) : 'set the price back in the Dashboard of the provider',
    },
  ]
}

type Terms = Pick<ProviderSubscription, 'destination' | 'applicationFeePercent'>

const payeeText = (terms: Terms | null): string =>
  terms?.destination ? `paid to ${terms.destination}, fee ${terms.applicationFeePercent ?? 0} %` : 'paid to the platform'

/** A subscription with tax is never changed to pay a vendor. */
function termsFix(vendorId: string | null, isTaxed: boolean): string {
  if (isTaxed) return 'the tenant uninstalls the item and installs it again after the end of its period'
  return vendorId
    ? `tenantry marketplace vendors sync ${vendorId}, which sends the terms again`
    : 'remove the destination in the Dashboard of the provider'
}

const ofStatus = (of: Of, { row, there }: Pair): Difference[] =>
  paymentStatusOf(there) === row.paymentStatus
    ? []
    : [{ kind: 'payment_status_differs', ...of, here: row.paymentStatus, there: there.status, fix: replay }]

/** The subscription of the plan, and every other one that charges the customer for nothing. */
export async function ofPlanAndUnknown({ db, provider }: Deps, tenant: TenantRecord, { rows, all }: Compared): Promise<Difference[]> {
  const plan = await db.selectFrom('tenant_billing').selectAll().where('tenant_id', '=', tenant.id).executeTakeFirst()
  const own = plan && (all.find(({ id }) => id === plan.subscription_id) ?? (await provider.getSubscription(plan.subscription_id)))
  const ofPlan = { subject: tenant.slug, id: plan?.subscription_id ?? '' }
  const found: Difference[] = []
  if (plan && isLive({ status: plan.status as ProviderSubscription['status'] }) && own?.status !== plan.status) {
    const kind = own && isLive(own) ? 'payment_status_differs' : 'subscription_missing'
    found.push({ kind, ...ofPlan, here: plan.status, there: own?.status ?? 'unknown', fix: replay })
  }
  if (own && isLive(own) && planOf(own) === null)
    found.push({
      kind: 'subscription_unknown',
      ...{ ...ofPlan, here: `plan ${tenant.plan}` },
      there: `${own.status}, svc_plan=${own.metadata.svc_plan ?? ''} is no plan`,
      fix: 'set svc_plan to light, pro or dedicated in the metadata of the subscription in the Dashboard of the provider',
    })
  const known = new Set([plan?.subscription_id, ...rows.map(({ paymentSubscriptionId }) => paymentSubscriptionId)])
  for (const one of all.filter((sub) => isLive(sub) && !known.has(sub.id))) {
    const named = { kind: 'subscription_unknown', subject: tenant.slug, id: one.id } as const
    if (one.metadata.svc_kind === 'item' && !(await isExpected(db, one)))
      found.push({
        ...{ ...named, here: 'no item is installed with it', there: `${one.status}, item ${one.metadata.svc_item ?? 'unknown'}` },
        fix: 'cancel it in the Dashboard of the provider, and refund what it charged',
      })
    if (one.metadata.svc_kind === 'plan' && one.status !== 'incomplete')
      found.push({
        ...{ ...named, there: one.status },
        here: plan ? `the subscription of the plan is ${plan.subscription_id}` : 'the tenant has no subscription of a plan',
        fix:
          own && isLive(own)
            ? 'cancel one of them in the Dashboard of the provider'
            : `tenantry webhooks list --type customer.subscription.created, then replay the newest event of this subscription; ${resend}`,
      })
  }
  return found
}

/** Its installation runs, or was replaced by one that is free or has another subscription: then it ends with its paid period. */
async function isExpected(db: DbOrTx, { id, metadata, cancelAtPeriodEnd }: ProviderSubscription): Promise<boolean> {
  const attempts = db
    .selectFrom('payment_attempts')
    .select('id')
    .where('id', '=', metadata.svc_attempt ?? '')
  if (await attempts.where('finished_at', 'is', null).executeTakeFirst()) return true
  return cancelAtPeriodEnd && isLinked(db, id)
}
