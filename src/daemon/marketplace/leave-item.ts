import { isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { hasUpdate, subscriptionAfter } from '../../core/marketplace/index.ts'
import type { Tx } from '../db/index.ts'
import { applyBundle, endBundle, type Installer, planBundle } from './bundle.ts'
import type { MarketplaceDeps } from './deps.ts'
import { assertMayInstall, publishSubscription } from './install-item.ts'
import { findItem, type ItemRecord, lockItem } from './items.repo.ts'
import { noSuchItem, subscriptionView } from './show-marketplace.ts'
import { findSubscription, lockSubscription, type SubscriptionRecord, storeSubscription } from './subscriptions.repo.ts'

type One = Readonly<{ id: string }>

const noSuchSubscription = (id: string) =>
  problem('NOT_FOUND', `Subscription ${id} does not exist. fix: list what is installed with GET …/marketplace/subscriptions`)

const notInstalled = ({ id, name }: ItemRecord) =>
  problem(
    'CONFLICT',
    `${name} is uninstalled, so there is nothing to update. fix: install it again with POST …/marketplace/items/${id}/install`,
  )

/** Uninstalls an item. A repeated call changes nothing. A copied flow stays; a module is deactivated, with 30 days of retention. Throws NOT_FOUND. */
export const uninstallItem = (deps: MarketplaceDeps, actor: PlatformPrincipal, { id }: One) =>
  deps.db.transaction().execute(async (tx) => {
    const found = await lockSubscription(tx, { tenantId: actor.tenantId, id })
    if (!found) throw noSuchSubscription(id)
    const paidUntil =
      found.status === 'active' && found.paymentSubscriptionId !== null ? await deps.payments.cancelled(tx, found) : found.paidUntil
    const cancelled = await cancelInstallation(deps, tx, { actor, subscription: found, verb: 'uninstall', paidUntil })
    const item = (await findItem(tx, cancelled.itemId)) as ItemRecord
    return { success: true as const, status: 'cancelled' as const, subscription: subscriptionView(cancelled, item) }
  })

type Cancelled = Readonly<{
  actor: Installer
  /** Locked by the transaction. */
  subscription: SubscriptionRecord
  verb: 'uninstall' | 'payment-deleted'
  paidUntil: string | null
}>

/** Cancels a subscription with the effects of an uninstall (spec 3.5); a cancelled one stays as it is. It asks nothing of the provider. */
export async function cancelInstallation(
  deps: Omit<MarketplaceDeps, 'payments'>,
  tx: Tx,
  { actor, subscription, verb, paidUntil }: Cancelled,
): Promise<SubscriptionRecord> {
  if (subscriptionAfter(subscription.status, verb) === null) return subscription
  const now = isoNow(deps.clock)
  const next = { ...subscription, status: 'cancelled' as const, cancelledAt: now, paidUntil, updatedAt: now }
  const cancelled = await storeSubscription(tx, next)
  await endBundle(deps, tx, { actor, moduleId: cancelled.moduleId, ownsModule: cancelled.ownsModule })
  const item = (await findItem(tx, cancelled.itemId)) as ItemRecord
  const action = verb === 'uninstall' ? 'marketplace.uninstalled' : 'marketplace.payment-ended'
  await publishSubscription(deps, tx, { actor, item, subscription: cancelled, type: 'subscription.cancelled', action })
  return cancelled
}

/**
 * Installs the current version of an item: a flow is copied beside the old board, which stays. The module of an app has versions of its own.
 * Without a newer version nothing changes. Throws NOT_FOUND (also for an item that is not published any more), FORBIDDEN, CONFLICT.
 */
export async function updateInstalled(deps: MarketplaceDeps, actor: PlatformPrincipal, { id }: One) {
  const key = { tenantId: actor.tenantId, id }
  const found = await findSubscription(deps.db, key)
  if (!found) throw noSuchSubscription(id)
  const item = (await findItem(deps.db, found.itemId)) as ItemRecord
  assertMayInstall(actor, item)
  if (found.status !== 'active') throw notInstalled(item)
  if (item.status !== 'published' && hasUpdate(found, { ...item, status: 'published' })) throw noSuchItem(item.id)
  if (!hasUpdate(found, item)) return { subscription: subscriptionView(found, item) }
  const plan = await planBundle(deps, actor, item)
  return deps.db.transaction().execute(async (tx) => {
    // Lock order: an installation locks the item before the subscription.
    if ((await lockItem(tx, item.id))?.status !== 'published') throw noSuchItem(item.id)
    const locked = await lockSubscription(tx, key)
    if (locked?.status !== 'active') throw notInstalled(item)
    if (!hasUpdate(locked, item)) return { subscription: subscriptionView(locked, item) }
    const applied = plan.kind === 'flow' ? await applyBundle(deps, tx, { actor, plan }) : {}
    const next = { ...locked, ...applied, installedVersion: item.version, updatedAt: isoNow(deps.clock) }
    const stored = await storeSubscription(tx, next)
    await publishSubscription(deps, tx, {
      actor,
      item,
      subscription: stored,
      type: 'subscription.activated',
      action: 'marketplace.updated',
    })
    return { subscription: subscriptionView(stored, item) }
  })
}
