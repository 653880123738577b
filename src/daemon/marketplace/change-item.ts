import { type Actor, isoNow, newId, problem } from '../../core/kit/index.ts'
import {
  assertCharged,
  changesStatus,
  type Item,
  type ItemChange,
  type NewVendor,
  storedCents,
  type Vendor,
  type VendorChange,
} from '../../core/marketplace/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { announceItem } from './announce-item.ts'
import type { MarketplaceDeps } from './deps.ts'
import { type ItemRecord, lockItem, renameVendor, replaceItem } from './items.repo.ts'
import { itemView } from './operate-marketplace.ts'
import { insertVendor, isAccountGone, lockVendor, replaceVendor } from './vendors.repo.ts'

type One = Readonly<{ id: string }>

/** Changes an item; work at the provider follows through the queue. Without a difference nothing changes. Throws NOT_FOUND, INVALID_TRANSITION, VALIDATION. */
export const changeItem = (deps: MarketplaceDeps, actor: Actor, { id, ...change }: ItemChange & One): Promise<Item> =>
  deps.db.transaction().execute(async (tx) => {
    const item = await lockItem(tx, id)
    if (!item) throw problem('NOT_FOUND', `Item ${id} does not exist. fix: tenantry marketplace items list`)
    const now = isoNow(deps.clock)
    const parts = {
      ...statusAfter(item, change, now),
      ...priceAfter(item, change, deps.payments.currency),
      ...(await vendorAfter(tx, item, change)),
      ...(change.screenshots === undefined ? {} : { screenshots: change.screenshots }),
    }
    const changed = Object.entries(parts).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(item[key as keyof ItemRecord]))
    if (changed.length === 0) {
      // The same price, set again: the provider may have lost it.
      if (change.priceModel) await deps.payments.priceChanged(tx, { itemId: id, former: null })
      return itemView(item)
    }
    const next: ItemRecord = { ...item, ...parts, changedByAdmin: true, updatedAt: now }
    await replaceItem(tx, next)
    const isOtherPrice = (['priceModel', 'priceCents', 'currency'] as const).some((key) => next[key] !== item[key])
    if (isOtherPrice) await deps.payments.priceChanged(tx, { itemId: id, former: item.paymentPriceId })
    if (next.vendorId !== item.vendorId) await deps.payments.termsChanged(tx, { itemId: id })
    if (next.withdrawnAt !== item.withdrawnAt) await deps.payments.endsChanged(tx, { itemId: id })
    await announceItem(deps, tx, id)
    const data = { itemId: id, slug: item.slug, ...Object.fromEntries(changed) }
    await recordAudit(tx, deps.clock, { actor, action: 'marketplace.item-changed', subject: item.slug, data })
    return itemView(next)
  })

const statusAfter = (item: ItemRecord, { status }: ItemChange, now: string): Partial<ItemRecord> =>
  status === undefined || !changesStatus(item.slug, { from: item.status, to: status })
    ? {}
    : { status, ...(status === 'published' ? { publishedAt: now, withdrawnAt: null } : {}) }

/** The item sells only once the provider has the new price. */
function priceAfter(item: ItemRecord, { priceModel, priceCents }: ItemChange, currency: string): Partial<ItemRecord> {
  if (priceModel === undefined) return {}
  const price = { priceModel, priceCents: storedCents({ priceModel, priceCents }), currency: priceModel === null ? null : currency }
  assertCharged(price, currency)
  const isSame = item.priceModel === price.priceModel && item.priceCents === price.priceCents && item.currency === price.currency
  return isSame ? {} : { ...price, paymentPriceId: null }
}

async function vendorAfter(tx: Tx, item: ItemRecord, { vendorId }: ItemChange): Promise<Partial<ItemRecord>> {
  if (vendorId === undefined || vendorId === item.vendorId) return {}
  if (vendorId === null) return { vendorId, vendorName: platformVendor }
  const vendor = await lockVendor(tx, vendorId)
  if (vendor) return { vendorId, vendorName: vendor.name }
  const reason = 'is not a vendor. fix: tenantry marketplace vendors list'
  throw problem('VALIDATION', `vendorId: ${reason}`, { details: [{ path: 'vendorId', reason }] })
}

/** The name that items without a vendor show. */
export const platformVendor = 'Tenantry'

/** Creates a vendor; its account at the provider follows through the queue. */
export const createVendor = (deps: MarketplaceDeps, actor: Actor, input: NewVendor): Promise<Vendor> =>
  deps.db.transaction().execute(async (tx) => {
    const now = isoNow(deps.clock)
    const vendor: Vendor = {
      ...{ id: newId(deps.random, 'vnd'), ...input },
      ...{ paymentAccountId: null, paymentAccountStatus: 'pending', chargesEnabled: false, payoutsEnabled: false },
      ...{ createdAt: now, updatedAt: now },
    }
    await insertVendor(tx, vendor)
    await deps.payments.vendorCreated(tx, { vendorId: vendor.id })
    const { name, country, applicationFeePercent } = vendor
    const data = { vendorId: vendor.id, name, country, applicationFeePercent }
    await recordAudit(tx, deps.clock, { actor, action: 'marketplace.vendor-created', subject: vendor.id, data })
    return vendor
  })

/** Changes a vendor; live subscriptions get another fee through the queue. Without a difference nothing changes. Throws NOT_FOUND, CONFLICT. */
export const changeVendor = (deps: MarketplaceDeps, actor: Actor, { id, ...change }: VendorChange & One): Promise<Vendor> =>
  deps.db.transaction().execute(async (tx) => {
    const vendor = await lockVendor(tx, id)
    if (!vendor) throw problem('NOT_FOUND', `Vendor ${id} does not exist. fix: tenantry marketplace vendors list`)
    const given = Object.entries(change).filter(([key, value]) => value !== undefined && value !== vendor[key as keyof Vendor])
    if (given.length === 0) return vendor
    if (change.country !== undefined && change.country !== vendor.country) await assertCountryIsOpen(tx, vendor)
    const next: Vendor = { ...vendor, ...Object.fromEntries(given), updatedAt: isoNow(deps.clock) }
    await replaceVendor(tx, next)
    if (next.name !== vendor.name) await renameVendor(tx, { vendorId: id, name: next.name })
    if (next.applicationFeePercent !== vendor.applicationFeePercent) await deps.payments.termsChanged(tx, { vendorId: id })
    // The audit log is never deleted, so it names no address.
    const data = { vendorId: id, ...Object.fromEntries(given.map(([key, value]) => [key, key === 'contactEmail' ? 'changed' : value])) }
    await recordAudit(tx, deps.clock, { actor, action: 'marketplace.vendor-changed', subject: id, data })
    return next
  })

/** The provider fixes the country of an account at its creation; one that is gone is replaced by the next onboarding. Throws CONFLICT. */
async function assertCountryIsOpen(tx: Tx, { id, country, paymentAccountId }: Vendor): Promise<void> {
  if (paymentAccountId === null || (await isAccountGone(tx, id))) return
  throw problem(
    'CONFLICT',
    `The payment account ${paymentAccountId} of vendor ${id} was created for ${country}, and the provider never changes that. fix: delete the account in the Dashboard of the provider, then tenantry marketplace vendors sync ${id}, and repeat the request`,
  )
}
