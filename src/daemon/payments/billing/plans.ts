import { alertKey } from '../../../core/alerts/index.ts'
import { planAfter } from '../../../core/billing/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { isLive, type ProviderSubscription, paymentStatusOf } from '../../../core/payments/index.ts'
import { afterPlanBegun, afterPlanEnded } from '../../../core/tenants/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { forUpdate, lockExclusive, type Tx, type WithTx } from '../../db/index.ts'
import { lockTenant, setPlanIn, setTenantStatusIn, type TenantRecord, tenantById } from '../../tenants/index.ts'
import { paymentFailed, paymentFailedKey } from '../alerts.ts'
import type { BillingDeps } from './deps.ts'
import { enqueuePaymentMail } from './failure-mails.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider'>

const system = { kind: 'system', name: 'billing' } as const

/**
 * Follows the subscription of a tenant's plan (spec 4.7), as it is at the provider now. Its end suspends a Light tenant without another one; for
 * others an operator decides. Returns what happened.
 */
export async function followPlan(deps: Deps, found: ProviderSubscription): Promise<string> {
  const all = await deps.provider.listSubscriptions(found.customerId)
  return deps.db.transaction().execute(async (tx) => {
    const tenantId = found.metadata.svc_tenant ?? ''
    await lockExclusive(tx, `tenant-billing ${tenantId}`)
    const slug = (await tenantById(tx, tenantId))?.slug
    if (slug !== undefined) await lockTenant(tx, slug)
    const tenant = await tenantById(tx, tenantId)
    if (!tenant || tenant.status === 'deleting') return 'no tenant has the id of the metadata'
    const row = await tx
      .selectFrom('tenant_billing')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .modifyEnd(forUpdate(tx))
      .executeTakeFirst()
    const before = row && { id: row.subscription_id, status: row.status as ProviderSubscription['status'] }
    const known = row
      ? { subscriptionId: row.subscription_id, isLive: isLive({ status: row.status as ProviderSubscription['status'] }) }
      : null
    const { event, plan, followed, isSingle } = planAfter(known, { found, all })
    if (event === 'second') return second({ ...deps, tx }, tenant, { found, known: row?.subscription_id ?? '' })
    if (isSingle)
      await closeAlerts(tx, deps.clock, { subject: tenant.slug, kinds: ['billing_differs'], because: 'one subscription of a plan is left' })
    if (event === 'ignore') return `nothing to do: the subscription is ${found.status}`
    await store(deps, tx, { tenantId, found: followed, plan: plan ?? row?.plan ?? null })
    return event === 'ended' ? ended({ ...deps, tx }, tenant, found) : follow({ ...deps, tx }, tenant, { found: followed, plan, before })
  })
}

type Stored = Readonly<{ tenantId: string; found: ProviderSubscription; plan: string | null }>

async function store({ clock }: Deps, tx: Tx, { tenantId, found, plan }: Stored): Promise<void> {
  const state = {
    subscription_id: found.id,
    status: found.status,
    plan,
    current_period_end: found.currentPeriodEnd,
    updated_at: isoNow(clock),
  }
  await tx
    .insertInto('tenant_billing')
    .values({ tenant_id: tenantId, ...state })
    .onConflict((c) => c.column('tenant_id').doUpdateSet(state))
    .execute()
}

type Before = Pick<ProviderSubscription, 'id' | 'status'> | undefined
type Followed = Readonly<{ found: ProviderSubscription; plan: TenantRecord['plan'] | null; before: Before }>

async function follow(deps: WithTx<Deps>, tenant: TenantRecord, { found, plan, before }: Followed): Promise<string> {
  const { clock, tx } = deps
  const happened: string[] = []
  await followPayments(deps, { ...tenant, plan: plan ?? tenant.plan }, { found, before })
  await closeAlerts(tx, clock, { subject: tenant.slug, kinds: ['plan_ended'], because: 'the tenant has a subscription again' })
  if (plan !== null && plan !== tenant.plan) {
    await setPlanIn({ tx, clock }, system, { tenant, plan })
    happened.push(`plan ${plan}`)
  }
  if (tenant.suspendedCause === 'plan_ended') {
    const to = afterPlanBegun(tenant)
    await setTenantStatusIn({ tx, clock }, system, { tenant, to })
    happened.push(to.status === 'active' ? 'resumed' : 'still suspended by an operator')
  }
  return `${tenant.slug}: ${[`subscription ${found.id} is ${found.status}`, ...happened].join(', ')}`
}

/** As for an item: a failed payment raises an alert and mails the tenant, and takes nothing away. */
async function followPayments(deps: WithTx<Deps>, tenant: TenantRecord, { found, before }: Omit<Followed, 'plan'>): Promise<void> {
  const { clock, tx } = deps
  const { id: tenantId, slug, plan } = tenant
  const isSame = before?.id === found.id
  if (before && !isSame) await closeFailed(deps, tenant, before)
  const status = paymentStatusOf(found)
  if (status === (before && isSame ? paymentStatusOf(before) : 'ok')) return
  if (status === 'ok') return closeAlerts(tx, clock, { subject: slug, keys: [paymentFailedKey(found.id)], because: 'the invoice was paid' })
  const isUnpaid = status === 'unpaid'
  const facts = { slug, itemName: `the plan ${plan}`, subscriptionId: found.id, isUnpaid, isPlan: true }
  await raiseAlert(tx, clock, paymentFailed(facts))
  await enqueuePaymentMail(deps, { tenantId, plan, isUnpaid })
}

const closeFailed = ({ clock, tx }: WithTx<Deps>, { slug }: TenantRecord, { id }: Readonly<{ id: string }>): Promise<void> =>
  closeAlerts(tx, clock, { subject: slug, keys: [paymentFailedKey(id)], because: 'the subscription ended' })

async function ended(deps: WithTx<Deps>, tenant: TenantRecord, found: ProviderSubscription): Promise<string> {
  const { clock, tx } = deps
  await closeFailed(deps, tenant, found)
  const isLight = tenant.plan === 'light' && tenant.status !== 'deleting'
  const to = afterPlanEnded(tenant)
  const isSuspended = isLight && to.status === 'suspended'
  await raiseAlert(tx, clock, {
    kind: 'plan_ended',
    subject: tenant.slug,
    title: `The subscription of ${tenant.slug} for the plan ${tenant.plan} ended`,
    body:
      `The subscription ${found.id} ended at the payment provider. ` +
      (isSuspended
        ? 'The tenant is suspended; its box and chat keep running. A new subscription of its plan lifts that, and you may resume it for a time.'
        : 'Nothing was taken away: a tenant with this plan is never suspended by itself. Decide with the tenant.'),
    command: `tenantry tenants billing ${tenant.slug}`,
    standing: true,
  })
  if (isLight) await setTenantStatusIn({ tx, clock }, system, { tenant, to })
  else {
    const data = { tenantId: tenant.id, subscriptionId: found.id }
    await recordAudit(tx, clock, { actor: system, action: 'billing.plan-ended', subject: tenant.slug, data })
  }
  return `${tenant.slug}: the subscription of the plan ended${isSuspended ? '; suspended' : ''}`
}

type Second = Readonly<{ found: ProviderSubscription; known: string }>

async function second({ clock, tx }: WithTx<Deps>, { slug }: TenantRecord, { found, known }: Second): Promise<string> {
  await raiseAlert(tx, clock, {
    kind: 'billing_differs',
    key: alertKey('billing_differs', `second-plan:${found.id}`),
    subject: slug,
    title: `${slug} has a second live subscription of a plan`,
    body:
      `${known} is the subscription of its plan, and ${found.id} changed nothing. The tenant pays for both: cancel one at the provider. ` +
      'The other one applies then.',
    command: `tenantry tenants billing ${slug}`,
  })
  return `${slug}: ${known} is the subscription of the plan; ${found.id} changes nothing`
}
