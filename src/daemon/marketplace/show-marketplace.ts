import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import { isProblem, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { hasUpdate, type ItemDetail, type ItemType, type Subscription, type TenantItem } from '../../core/marketplace/index.ts'
import { consentOf, planBundle } from './bundle.ts'
import type { MarketplaceDeps } from './deps.ts'
import { findItem, type ItemRecord, itemsOf, type ListedItemRecord } from './items.repo.ts'
import { priceFor } from './own-price.ts'
import { findSubscription, type SubscriptionRecord, subscriptionsOf } from './subscriptions.repo.ts'

type Deps = Pick<MarketplaceDeps, 'db' | 'clock'>
type Query = Readonly<{
  type?: ItemType | undefined
  category?: string | undefined
  installed?: 'true' | 'false' | undefined
  cursor?: string | undefined
  limit: number
}>

/** An item as users of a tenant see it. */
function tenantItem({ clock }: Pick<Deps, 'clock'>, item: ListedItemRecord, own: SubscriptionRecord | undefined): TenantItem {
  const { id, itemType, slug, name, description, iconEmoji, category, vendorName, version, screenshots, publishedAt } = item
  const isActive = own?.status === 'active'
  return {
    ...{ id, itemType, slug, name, description, iconEmoji, category: category as TenantItem['category'], vendorName, version },
    ...{ ...priceFor(item, own, clock), screenshots: [...screenshots], publishedAt },
    ...{ installed: isActive, subscriptionId: own?.id ?? null, installedVersion: isActive ? own.installedVersion : null },
    updateAvailable: own ? hasUpdate(own, item) : false,
  }
}

/** A page of published items, newest first. Throws VALIDATION for an invalid cursor. */
export async function listTenantItems({ db, clock }: Deps, actor: PlatformPrincipal, { installed, cursor, limit, ...filters }: Query) {
  const own = new Map((await subscriptionsOf(db, actor)).map((one) => [one.itemId, one]))
  const active = [...own.values()].filter(({ status }) => status === 'active').map(({ itemId }) => itemId)
  const ids = installed === undefined ? undefined : installed === 'true' ? { only: active } : { without: active }
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const found = await itemsOf(db, { ...filters, status: 'published', ids, after, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, pageEnd)
  return { items: page.map((item) => tenantItem({ clock }, item, own.get(item.id))), nextCursor }
}

export const noSuchItem = (id: string) =>
  problem('NOT_FOUND', `Item ${id} does not exist. fix: list the items with GET /api/platform/v1/marketplace/items`)

/** A published item, or one that the tenant has installed. Throws NOT_FOUND. */
export async function showTenantItem(
  deps: MarketplaceDeps,
  actor: PlatformPrincipal,
  { id }: Readonly<{ id: string }>,
): Promise<ItemDetail> {
  const { db } = deps
  const item = await findItem(db, id)
  const own = item && (await findSubscription(db, { tenantId: actor.tenantId, itemId: id }))
  if (!item || (item.status !== 'published' && own?.status !== 'active')) throw noSuchItem(id)
  const isHidden = item.priceModel !== null && own?.status !== 'active'
  return {
    ...tenantItem(deps, item, own),
    bundle: isHidden ? withoutConfig(item.bundle) : item.bundle,
    ...(await consentOf(deps, actor, item)),
    obstacle: own?.status === 'active' ? null : await obstacleOf(deps, actor, item),
  }
}

/** Why the tenant cannot install an item now; null if it can. */
async function obstacleOf(deps: MarketplaceDeps, actor: PlatformPrincipal, item: ItemRecord): Promise<ItemDetail['obstacle']> {
  try {
    await planBundle(deps, actor, item)
    // Others cannot buy, and an unpaid invoice is none of their business.
    if (item.priceModel !== null && actor.capabilities.includes('manageMarketplace')) await deps.payments.assertBuyable(actor, item)
    return null
  } catch (error) {
    if (!isProblem(error)) throw error
    return { code: error.code, message: error.message }
  }
}

/** A flow without the configuration of its components. An app has none. */
function withoutConfig(bundle: ItemRecord['bundle']): Record<string, unknown> {
  const { templateExport } = bundle as { templateExport?: { components: readonly Record<string, unknown>[] } }
  if (!templateExport) return { ...bundle }
  const components = templateExport.components.map(({ config: _, ...component }) => component)
  return { templateExport: { ...templateExport, components } }
}

/** Items that the tenant installed, newest first, cancelled ones too. */
export async function listTenantSubscriptions(
  { db }: Pick<Deps, 'db'>,
  actor: PlatformPrincipal,
): Promise<{ subscriptions: Subscription[] }> {
  const own = await subscriptionsOf(db, actor)
  const items = await itemsOf(db, { ids: { only: own.map(({ itemId }) => itemId) }, limit: own.length })
  const byId = new Map(items.map((item) => [item.id, item]))
  return { subscriptions: own.map((one) => subscriptionView(one, byId.get(one.itemId) as ListedItemRecord)) }
}

export function subscriptionView(
  one: SubscriptionRecord,
  item: Pick<ItemRecord, 'name' | 'version' | 'status' | 'withdrawnAt'>,
): Subscription {
  const { id, itemId, itemType, installedVersion, status, paymentStatus, priceModel, priceCents, currency } = one
  const { installedTemplateId, moduleId, installedAt, cancelledAt } = one
  const { name, version } = item
  const withdrawn = item.withdrawnAt !== null
  const paidUntil = status === 'cancelled' || withdrawn ? one.paidUntil : null
  return {
    ...{ id, itemId, itemType, name, installedVersion, currentVersion: version },
    updateAvailable: hasUpdate(one, item),
    ...{
      status,
      paymentStatus,
      priceModel,
      priceCents,
      currency,
      installedTemplateId,
      moduleId,
      installedAt,
      cancelledAt,
      withdrawn,
      paidUntil,
    },
  }
}
