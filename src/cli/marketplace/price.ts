import { problem } from '../../core/kit/index.ts'
import type { PriceModel } from '../../core/marketplace/index.ts'

type Priced = Readonly<{ priceModel: PriceModel | null; priceCents: number | null; currency: string | null }>

const units: Readonly<Record<PriceModel, string>> = { 'flat-monthly': 'a month', 'per-active-user': 'per active user and month' }

/** `4.99 EUR a month`; `free`. */
export function priceText({ priceModel, priceCents, currency }: Priced): string {
  if (priceModel === null || priceCents === null) return 'free'
  const cents = String(priceCents % 100).padStart(2, '0')
  return `${Math.floor(priceCents / 100)}.${cents} ${(currency ?? '').toUpperCase()} ${units[priceModel]}`
}

/** `free`, `flat-monthly=499` or `per-active-user=20`, in cents. Throws USAGE. */
export function readPrice(text: string): Pick<Priced, 'priceModel' | 'priceCents'> {
  if (text === 'free') return { priceModel: null, priceCents: null }
  const [, model, cents] = /^(flat-monthly|per-active-user)=(\d{1,6})$/.exec(text) ?? []
  if (model !== undefined) return { priceModel: model as PriceModel, priceCents: Number(cents) }
  throw problem('USAGE', `${text} is not a price. fix: --price flat-monthly=499, --price per-active-user=20 (cents), or --price free`)
}
