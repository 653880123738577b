import { z } from 'zod'
import { problem } from '../kit/index.ts'

/** `flat-monthly`: cents a month. `per-active-user`: cents for each active user of a month. */
export const PriceModel = z.enum(['flat-monthly', 'per-active-user'])
export type PriceModel = z.infer<typeof PriceModel>

/** Cents, inclusive. */
const priceBounds = {
  'flat-monthly': { min: 50, max: 100_000 },
  'per-active-user': { min: 1, max: 10_000 },
} as const satisfies Record<PriceModel, Readonly<{ min: number; max: number }>>

/** The least amount that Stripe charges, in cents; 50 in all other currencies with two decimals. */
const leastCharge: Readonly<Record<string, number>> = {
  ...{
    aed: 200,
    bgn: 100,
    czk: 1500,
    dkk: 250,
    hkd: 400,
    huf: 17_500,
    mxn: 1000,
    myr: 200,
    nok: 300,
    pln: 200,
    ron: 200,
    sek: 300,
    thb: 1000,
  },
}

/** A lesser monthly price would be carried to a later invoice of the customer, maybe that of another vendor. Throws VALIDATION. */
export function assertCharged({ priceModel, priceCents }: PriceFields, currency: string): void {
  const min = leastCharge[currency] ?? priceBounds['flat-monthly'].min
  if (priceModel !== 'flat-monthly' || (priceCents ?? 0) >= min) return
  const reason = `must be at least ${min} cents: the payment provider charges no less in ${currency.toUpperCase()}`
  throw problem('VALIDATION', `priceCents: ${reason}`, { details: [{ path: 'priceCents', reason }] })
}

/** A price: integer cents of one currency, ISO 4217 in lower case. Null for a free item. */

type PriceFields = Readonly<{ priceModel?: PriceModel | null | undefined; priceCents?: number | null | undefined }>

/** Cents as they are stored: null for a free item, whose vendor may have sent 0. */
export const storedCents = ({ priceModel = null, priceCents = null }: PriceFields): number | null =>
  priceModel === null ? null : priceCents

/** The faults of a price, by field: a free item has no model, and no cents or 0. */
function priceFaults({ priceModel = null, priceCents = null }: PriceFields): { path: string; reason: string }[] {
  if (priceModel === null)
    return (priceCents ?? 0) === 0 ? [] : [{ path: 'priceModel', reason: 'is missing; a free item has no priceCents, or 0' }]
  const { min, max } = priceBounds[priceModel]
  if (priceCents === null) return [{ path: 'priceCents', reason: `is missing: from ${min} to ${max} cents for ${priceModel}` }]
  if (priceCents < min || priceCents > max) return [{ path: 'priceCents', reason: `must be from ${min} to ${max} cents for ${priceModel}` }]
  return []
}

/** Adds the faults of a price to those of the object that has it. */
export const checkPrice = (value: PriceFields, context: z.core.$RefinementCtx): void => {
  for (const { path, reason } of priceFaults(value)) context.addIssue({ code: 'custom', path: [path], message: reason })
}
