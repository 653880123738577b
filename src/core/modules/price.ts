import { problem } from '../kit/index.ts'
import type { ModuleManifest } from './manifest.ts'

/** The monthly price of a module for a tenant. */
export type ModulePrice = Readonly<{ cents: number; currency: string }>

type Priced = Pick<ModuleManifest, 'billing'>

/** Null for a module that costs nothing. */
export function priceOf({ billing }: Priced): ModulePrice | null {
  const cents = Math.round((billing?.monthlyPrice ?? 0) * 100)
  return billing && cents > 0 ? { cents, currency: billing.currency.toLowerCase() } : null
}

/** A platform bills in one currency: a module with a price in another one would run and never be charged. */
export function isBillable(manifest: Priced, currency: string): boolean {
  const price = priceOf(manifest)
  return price === null || price.currency === currency
}

const amount = (price: ModulePrice | null): string =>
  price ? `${(price.cents / 100).toFixed(2)} ${price.currency.toUpperCase()} a month` : 'nothing'

/** A module with a price is installed only if the user was shown it; a shown price must be the current one. Throws CONFLICT. */
export function assertInstallPrice(next: Update['next'], shownCents: Update['shownCents']): void {
  const price = priceOf(next)
  if ((shownCents ?? null) === (price?.cents ?? null)) return
  const reason = shownCents === undefined ? 'and the request names no price' : 'not what was shown'
  throw problem(
    'CONFLICT',
    `${next.id} ${next.version} costs ${amount(price)}, ${reason}. Nothing was installed. fix: show the price and repeat the request with modulePriceCents: ${price?.cents ?? null}`,
  )
}

type Update = Readonly<{
  present: Priced
  next: Priced & Pick<ModuleManifest, 'id' | 'version'>
  /** The price that the user was shown, null for none. */
  shownCents: number | null | undefined
}>

/** A version that costs more is installed only if the user was shown its price; a shown price must be the current one. Throws CONFLICT. */
export function assertPriceShown({ present, next, shownCents }: Update): void {
  const [before, after] = [priceOf(present), priceOf(next)]
  const isHigher = after !== null && (before === null || after.cents > before.cents || after.currency !== before.currency)
  if (shownCents === undefined ? !isHigher : shownCents === (after?.cents ?? null)) return
  throw problem(
    'CONFLICT',
    `${next.id} ${next.version} costs ${amount(after)}; the installed version costs ${amount(before)}. fix: show the price and repeat the request with modulePriceCents: ${after?.cents ?? null}`,
  )
}
