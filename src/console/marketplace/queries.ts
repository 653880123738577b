import type { Item, SubmissionStatus } from '../../core/marketplace/index.ts'
import { moneyText } from '../../core/payments/index.ts'
import { api, type Tone } from '../kit/index.ts'
import { words } from './words.ts'

export const itemsQuery = {
  queryKey: ['marketplace', 'items'],
  queryFn: () => api.marketplace.listItems({ query: { limit: 200 } }),
} as const

export const itemTones = { published: 'ok', draft: 'waiting', archived: 'off' } as const satisfies Record<Item['status'], Tone>

export const submissionTones = {
  pending: 'waiting',
  'needs-changes': 'working',
  approved: 'ok',
  rejected: 'off',
} as const satisfies Record<SubmissionStatus, Tone>

type Priced = Readonly<{ priceModel: Item['priceModel']; priceCents: number | null; currency: string | null }>

/** `4.90 EUR a month`. */
export function priceWords({ priceModel, priceCents, currency }: Priced): string {
  if (priceModel === null || priceCents === null || currency === null) return words.free
  const amount = moneyText({ cents: priceCents, currency })
  return priceModel === 'flat-monthly' ? words.flat(amount) : words.perUser(amount)
}
