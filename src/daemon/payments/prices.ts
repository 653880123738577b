import { isPaymentFailure, type ProviderPrice, paymentFailure, usageMeterOf } from '../../core/payments/index.ts'
import { findItem, type ItemRecord, lockItem, replaceItem } from '../marketplace/index.ts'
import type { PaymentsDeps } from './deps.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'provider'>

const maxSavedErrors = 10

/** Creates with a key; after a saved error it searches for the object before it uses the next key. */
export async function createOnce<Value>(
  key: string,
  create: (key: string) => Promise<Value>,
  find: () => Promise<Value | null | undefined>,
): Promise<Value> {
  for (let n = 0; n < maxSavedErrors; n++)
    try {
      return await create(`${key}:${n}`)
    } catch (error) {
      if (!isPaymentFailure(error, 'failed')) throw error
      const found = await find()
      if (found) return found
    }
  throw paymentFailure('failed', 'The payment provider reports internal errors')
}

const lookupKeyOf = (itemId: string): string => `svc_item_${itemId}`

/** The price of an item at the provider, created with product and meter if it is missing. Null for a free item. */
export async function ensurePrice(deps: Deps, itemId: string): Promise<ProviderPrice | null> {
  const item = await findItem(deps.db, itemId)
  if (!item || item.priceModel === null || item.priceCents === null || item.currency === null) return null
  const known = await currentPrice(deps, item)
  const price = known ?? (await createPrice(deps, item))
  await deps.db.transaction().execute(async (tx) => {
    const locked = await lockItem(tx, itemId)
    if (!locked || !isSamePrice(locked, item)) return
    if (locked.paymentPriceId === price.id && locked.paymentProductId === price.productId) return
    await replaceItem(tx, { ...locked, paymentPriceId: price.id, paymentProductId: price.productId })
  })
  return price
}

const isSamePrice = (left: ItemRecord, right: ItemRecord): boolean =>
  left.priceModel === right.priceModel && left.priceCents === right.priceCents && left.currency === right.currency

/** The active price with the lookup key of the item, if it is what the item costs. */
async function currentPrice({ provider }: Deps, item: ItemRecord): Promise<ProviderPrice | null> {
  const price = await provider.findPrice(lookupKeyOf(item.id))
  return price && matches(price, item) ? price : null
}

const matches = ({ unit, meterId, active }: ProviderPrice, { priceModel, priceCents, currency }: ItemRecord): boolean =>
  active && unit.cents === priceCents && unit.currency === currency && (meterId !== null) === (priceModel === 'per-active-user')

async function createPrice(deps: Deps, item: ItemRecord): Promise<ProviderPrice> {
  const { provider } = deps
  const { id, name, priceModel, priceCents, currency } = item
  const metadata = { svc_item: id }
  const former = await provider.findPrice(lookupKeyOf(id))
  const productId =
    former?.productId ??
    item.paymentProductId ??
    (
      await createOnce(
        `product:${id}`,
        (key) => provider.createProduct({ key, name, metadata }),
        async () => null,
      )
    ).id
  const meter = async () => {
    const event = { eventName: usageMeterOf(id), displayName: name }
    return (
      await createOnce(
        `meter:${id}`,
        (key) => provider.ensureMeter({ key, ...event }),
        async () => null,
      )
    ).id
  }
  const meterId = priceModel === 'per-active-user' ? await meter() : null
  const price = {
    productId,
    unit: { cents: priceCents as number, currency: currency as string },
    meterId,
    lookupKey: lookupKeyOf(id),
    metadata,
  }
  // The former price is part of the key: an item that returns to an earlier price gets a new one.
  const key = `price:${id}:${former?.id ?? 'none'}:${priceModel}:${priceCents}:${currency}`
  const created = await createOnce(
    key,
    (one) => provider.createPrice({ key: one, ...price }),
    () => currentPrice(deps, item),
  )
  if (former?.active) await deactivateOnce(provider, former.id)
  return created
}

const deactivateOnce = (provider: Deps['provider'], id: string): Promise<unknown> =>
  createOnce(
    `deactivate:${id}`,
    async (key) => {
      await provider.deactivatePrice({ key, id })
      return id
    },
    async () => ((await provider.getPrice(id))?.active === false ? id : null),
  )

export const priceTopic = 'payments.price'

/** Creates the price of an item after an operator set it, and closes the former one to new subscriptions. */
export const rotatePrice =
  (deps: Deps) =>
  async (payload: unknown): Promise<void> => {
    const { itemId, former } = payload as { itemId: string; former: string | null }
    if (deps.provider.name === 'none') return
    const price = await ensurePrice(deps, itemId)
    if (former !== null && former !== price?.id) await deactivateOnce(deps.provider, former)
  }
