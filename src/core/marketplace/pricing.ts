import { z } from 'zod'

/** `flat-monthly`: cents a month. `per-active-user`: cents for each active user of a month. */
export const PriceModel = z.enum(['flat-monthly', 'per-active-user'])
export type PriceModel = z.infer<typeof PriceModel>

/** Cents, inclusive. */
const priceBounds = {
  'flat-monthly': { min: 50, max: 100_000 },
  'per-active-user': { min: 1, max: 10_000 },
} as const satisfies Record<PriceModel, Readonly<{ min: number; max: number }>>

/** A price: integer cents of one currency, ISO 4217 in lower case. Null for a free item. */

type PriceFields = Readonly<{ priceModel?: PriceModel | null | undefined; priceCents?: number | null | undefined }>

/** The faults of a price, by field: a free item has neither model nor cents. */
function priceFaults({ priceModel = null, priceCents = null }: PriceFields): { path: string; reason: string }[] {
  if (priceModel === null)
    return priceCents === null ? [] : [{ path: 'priceModel', reason: 'is missing; a free item has no priceCents either' }]
  const { min, max } = priceBounds[priceModel]
  if (priceCents === null) return [{ path: 'priceCents', reason: `is missing: from ${min} to ${max} cents for ${priceModel}` }]
  if (priceCents < min || priceCents > max) return [{ path: 'priceCents', reason: `must be from ${min} to ${max} cents for ${priceModel}` }]
  return []
}

/** Adds the faults of a price to those of the object that has it. */
export const checkPrice = (value: PriceFields, context: z.core.$RefinementCtx): void => {
  for (const { path, reason } of priceFaults(value)) context.addIssue({ code: 'custom', path: [path], message: reason })
}
