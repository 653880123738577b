import { isoNow, newId, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { subscriptionAfter } from '../../core/marketplace/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type DbOrTx, lockExclusive, type Tx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { findInstallation } from '../modules/index.ts'
import { tenantById } from '../tenants/index.ts'
import { type Activation, activateApp, applyBundle, type BundlePlan, consentOf, type Installer, planBundle } from './bundle.ts'
import type { AcceptedModule, MarketplaceDeps } from './deps.ts'
import { findItem, type ItemRecord, lockItem } from './items.repo.ts'
import { type Price, priceFor } from './own-price.ts'
import { noSuchItem, subscriptionView } from './show-marketplace.ts'
import { findSubscription, lockSubscription, type SubscriptionRecord, storeSubscription } from './subscriptions.repo.ts'

/** The prices that the user was shown; each must be named, that of the item and that of its module. */
type Accepted = Readonly<{
  priceCents?: number | null | undefined
  priceModel?: ItemRecord['priceModel'] | undefined
  modulePriceCents?: number | null | undefined
}>
type Install = Accepted & Readonly<{ id: string }>

/**
 * Installs a published item (spec 4.8). Repeated for an app whose module is not active, it activates the module. Throws NOT_FOUND, FORBIDDEN,
 * ALREADY_INSTALLED, CONFLICT (another price than the accepted one, or one that was not named), the errors of `planBundle`, and for a paid item
 * those of the payments feature.
 */
export async function installItem(deps: MarketplaceDeps, actor: PlatformPrincipal, { id, ...accepted }: Install) {
  const item = await findItem(deps.db, id)
  if (item?.status !== 'published') throw noSuchItem(id)
  assertMayInstall(actor, item)
  await assertTenantActive(deps.db, actor)
  const own = await findSubscription(deps.db, { tenantId: actor.tenantId, itemId: id })
  if (own?.status === 'active' && (await isHalfInstalled(deps, own)))
    return { success: true as const, status: 'active' as const, ...(await finished(deps, actor, own)) }
  subscriptionAfter(own?.status ?? null, 'install')
  const { permissions, modulePrice } = await consentOf(deps, actor, item)
  // Why the tenant cannot buy the item at all comes before the price that the request lacks.
  if (item.priceModel !== null && accepted.priceCents === undefined) await deps.payments.assertBuyable(actor, item)
  // Without its module an app has no price to accept; the plan refuses it.
  const hasNoModule = item.itemType === 'app' && permissions === null
  assertPrice({ name: item.name, price: priceFor(item, own, deps.clock), modulePrice: hasNoModule ? undefined : modulePrice }, accepted)
  const module = { modulePriceCents: modulePrice?.cents ?? null }
  const subscription =
    item.priceModel === null
      ? await installFree(deps, actor, { found: item, ...module })
      : await deps.payments.installPaid(actor, item, module)
  return { success: true as const, status: 'active' as const, ...(await finished(deps, actor, subscription)) }
}

/** A tenant that is suspended or deleted gets nothing new; its deletion has counted what it has. Throws CONFLICT. */
async function assertTenantActive(db: DbOrTx, { tenantId, tenantSlug }: Pick<Installer, 'tenantId' | 'tenantSlug'>): Promise<void> {
  const tenant = await tenantById(db, tenantId)
  if (tenant?.status === 'active') return
  const state = tenant?.status === 'suspended' ? 'suspended' : 'being deleted'
  throw problem(
    'CONFLICT',
    `Tenant ${tenantSlug} is ${state}, so nothing is installed for it. fix: resume the tenant, then repeat the request`,
  )
}

type Costs = Readonly<{ name: string; price: Price; modulePrice: Awaited<ReturnType<typeof consentOf>>['modulePrice'] | undefined }>

function assertPrice({ name, price, modulePrice }: Costs, accepted: Accepted): void {
  const isOtherModel = accepted.priceModel !== undefined && accepted.priceModel !== price.priceModel
  if (isOtherModel || (accepted.priceCents || null) !== price.priceCents) throw notAccepted(name, price, accepted)
  if (modulePrice === undefined) return
  const shownCents = accepted.modulePriceCents
  const moduleCents = modulePrice?.cents ?? null
  if ((shownCents ?? null) === moduleCents) return
  const cost = modulePrice ? `costs ${amount(modulePrice.cents, modulePrice.currency)} a month` : 'is free'
  const reason = shownCents === undefined ? 'and the request names no price' : 'not what was shown'
  throw problem(
    'CONFLICT',
    `The module of ${name} ${cost}, ${reason}. Nothing was charged. fix: show the price and repeat the request with modulePriceCents: ${moduleCents}`,
  )
}

const amount = (cents: number, currency: string | null) => `${(cents / 100).toFixed(2)} ${currency?.toUpperCase()}`

function notAccepted(name: string, { priceCents, priceModel, currency }: Price, accepted: Accepted) {
  const cost = priceModel === null ? 'is free' : `costs ${amount(priceCents ?? 0, currency)} (${priceModel})`
  const reason = accepted.priceCents === undefined ? 'and the request names no price' : 'not what was shown'
  return problem(
    'CONFLICT',
    `${name} ${cost}, ${reason}. Nothing was charged. fix: show the price and repeat the request with priceCents: ${priceCents}`,
  )
}

/** An app approves permissions of its module, so it needs the right to. Throws FORBIDDEN. */
export function assertMayInstall({ capabilities }: Pick<PlatformPrincipal, 'capabilities'>, { itemType, name }: ItemRecord): void {
  if (itemType === 'flow' || capabilities.includes('manageModules')) return
  throw problem(
    'FORBIDDEN',
    `${name} installs a module, and your role has no manageModules. fix: ask an administrator of your organisation`,
  )
}

async function isHalfInstalled({ db }: Pick<MarketplaceDeps, 'db'>, { tenantId, moduleId }: SubscriptionRecord): Promise<boolean> {
  return moduleId !== null && (await findInstallation(db, { tenantId, moduleId }))?.status !== 'active'
}

/** The same for a job, which finished the installation. Only a module that was never active: an administrator may have deactivated it since. */
export async function activateInstalled(deps: ShopDeps, actor: Installer, one: SubscriptionRecord): Promise<Activation> {
  const { tenantId, moduleId } = one
  const installation = moduleId === null ? undefined : await findInstallation(deps.db, { tenantId, moduleId })
  return installation?.status === 'installed' ? activateApp(deps, actor, one) : null
}

type ShopDeps = Omit<MarketplaceDeps, 'payments'>

async function finished(deps: MarketplaceDeps, actor: Installer, subscription: SubscriptionRecord) {
  const activation = await activateApp(deps, actor, subscription)
  const item = (await findItem(deps.db, subscription.itemId)) as ItemRecord
  return { subscription: subscriptionView(subscription, item), activation }
}

/** `found`: the free item as the request read it. One that got a price since is not installed. */
type Free = AcceptedModule & Readonly<{ found: ItemRecord }>

async function installFree(
  deps: MarketplaceDeps,
  actor: PlatformPrincipal,
  { found, modulePriceCents }: Free,
): Promise<SubscriptionRecord> {
  const plan = await planBundle(deps, actor, found)
  if (plan.modulePriceCents !== modulePriceCents)
    throw problem('CONFLICT', `The module of ${found.name} got another price meanwhile. fix: read the item again and repeat the request`)
  return deps.db.transaction().execute(async (tx) => {
    const item = await lockItem(tx, found.id)
    if (item?.status !== 'published') throw noSuchItem(found.id)
    await assertTenantActive(tx, actor)
    if (item.updatedAt !== found.updatedAt || item.priceModel !== null)
      throw problem('CONFLICT', `${item.name} changed while it was installed. fix: read the item again and repeat the request`)
    return storeInstallation(deps, tx, { actor, item, plan, payment: noPayment })
  })
}

/** The columns of a subscription that the payments feature fills. */
type InstalledPayment = Pick<
  SubscriptionRecord,
  | ('priceModel' | 'priceCents' | 'currency')
  | ('paymentPriceId' | 'paymentSubscriptionId' | 'paymentSubscriptionItemId' | 'paymentStatus' | 'paidUntil')
>

export const noPayment: InstalledPayment = {
  ...{ priceModel: null, priceCents: null, currency: null },
  ...{ paymentPriceId: null, paymentSubscriptionId: null, paymentSubscriptionItemId: null, paymentStatus: 'ok', paidUntil: null },
}

type NewInstallation = Readonly<{ actor: Installer; item: ItemRecord; plan: BundlePlan; payment: InstalledPayment }>

/**
 * The one transaction of an installation, free or paid: bundle, subscription, event and audit entry commit together. Of parallel ones the first
 * commits. Throws ALREADY_INSTALLED, and what the bundle throws if something changed after its dry run.
 */
export async function storeInstallation(
  deps: Omit<MarketplaceDeps, 'payments'>,
  tx: Tx,
  { actor, item, plan, payment }: NewInstallation,
): Promise<SubscriptionRecord> {
  const { tenantId } = actor
  await lockExclusive(tx, `marketplace-install ${tenantId} ${item.id}`)
  const former = await lockSubscription(tx, { tenantId, itemId: item.id })
  subscriptionAfter(former?.status ?? null, 'install')
  const applied = await applyBundle(deps, tx, { actor, plan })
  const now = isoNow(deps.clock)
  const stored = await storeSubscription(tx, {
    ...{ id: former?.id ?? newId(deps.random, 'msb'), tenantId, itemId: item.id, itemType: item.itemType, status: 'active' },
    ...{ installedVersion: item.version, ...payment, ...applied },
    installedBy: actor.kind === 'user' ? actor.userId : null,
    ...{ installedAt: now, cancelledAt: null, updatedAt: now },
  })
  await publishSubscription(deps, tx, {
    actor,
    item,
    subscription: stored,
    type: 'subscription.activated',
    action: 'marketplace.installed',
  })
  return stored
}

type Happened = Readonly<{
  actor: Installer
  item: Pick<ItemRecord, 'slug'>
  subscription: SubscriptionRecord
  type: 'subscription.activated' | 'subscription.cancelled'
  action: string
}>

/** Subscriptions are read by users with `manageMarketplace`, so they get the events. Call it last. */
export async function publishSubscription(
  { clock }: Pick<MarketplaceDeps, 'clock'>,
  tx: Tx,
  { actor, item, subscription, type, action }: Happened,
): Promise<void> {
  const { tenantId, id: subscriptionId, itemId, installedVersion, priceModel, priceCents, currency } = subscription
  const payload = { subscriptionId, itemId }
  await recordEvent(tx, clock, { tenantId, type, payload, audience: { capability: 'manageMarketplace' } })
  const { installedTemplateId, moduleId, paymentSubscriptionId } = subscription
  const data = {
    ...{ tenantId, ...payload, item: item.slug, version: installedVersion },
    ...(priceModel === null ? {} : { priceModel, priceCents, currency, paymentSubscriptionId }),
    ...(installedTemplateId === null ? {} : { boardId: installedTemplateId }),
    ...(moduleId === null ? {} : { moduleId }),
  }
  await recordAudit(tx, clock, { actor, action, subject: actor.tenantSlug, data })
}
