// `tenantry billing`: what tenants are charged, what developers are paid, and what differs from the payment provider.
// It decides nothing itself.
import type { Difference, Payout, Preview, UsageRow } from '../../core/billing/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type Context, command, count, noun, text } from '../kit/index.ts'
import { differenceList, payoutList, previewList, usageList } from './billing.view.ts'

const month = text('--month <month>', 'a month such as 2026-11 (preview: default the present one)')
const tenant = text('--tenant <slug>', 'only this tenant')
const page = { limit: count('--limit <count>', 'max results'), cursor: text('--cursor <cursor>', 'pagination cursor') }

export type Previews = Readonly<{ month: string; previews: readonly Preview[]; nextCursor: string | null }>
export type Usage = Readonly<{ usage: readonly UsageRow[]; nextCursor: string | null }>
export type Payouts = Readonly<{ payouts: readonly Payout[]; nextCursor: string | null }>

const preview = command('preview', 'Preview what tenants are charged for a month', {
  options: { month, tenant, ...page },
  run: ({ api }, query): Promise<Previews> => api.billing.previewBilling({ query }),
  view: previewList,
  examples: ['preview --month 2026-11', 'preview --tenant anna-schule'],
})

const usage = command('usage', 'List usage of finished months and how it was billed', {
  options: { month, tenant, ...page },
  run: ({ api }, query): Promise<Usage> => api.billing.listUsage({ query }),
  view: usageList,
  examples: ['usage --month 2026-10', 'usage --tenant anna-schule'],
})

const payouts = command('payouts', 'List the statements of developers', {
  options: { month, ...page },
  run: ({ api }, query): Promise<Payouts> => api.billing.listPayouts({ query }),
  view: payoutList,
  examples: ['payouts --month 2026-10'],
})

const developer = command('developer <developer>', 'Set the vendor that receives the payouts of a developer', {
  options: { vendor: text('--vendor <vendor>', 'its id (none removes it)') },
  run: ({ api }, { developer: id, vendor }) => {
    if (vendor === undefined) throw problem('USAGE', 'nothing to change; pass --vendor vnd_… or --vendor none')
    return api.billing.setDeveloperVendor({ params: { id }, body: { vendorId: vendor === 'none' ? null : vendor } })
  },
  view: ({ developerId, vendorId }) =>
    vendorId === null ? `Payouts of ${developerId} are not transferred.` : `Payouts of ${developerId} go to the account of ${vendorId}.`,
  examples: ['developer dev_2x7e --vendor vnd_8k1m'],
})

export type Compared = Readonly<{ differences: readonly Difference[]; checked: number }>

/** Compares page by page: each call of the daemon stays short. */
async function compareAll({ api }: Context): Promise<Compared> {
  const differences: Difference[] = []
  let checked = 0
  for (let cursor: string | undefined, isMore = true; isMore; ) {
    const found = await api.billing.reconcileBilling({ query: { cursor } })
    differences.push(...found.differences)
    checked += found.checked
    cursor = found.nextCursor ?? undefined
    isMore = found.nextCursor !== null
  }
  return { differences, checked }
}

const reconcile = command('reconcile', 'Name what differs from the payment provider', {
  run: (context) => compareAll(context),
  view: differenceList,
  examples: ['reconcile'],
})

export const billing = noun('billing', 'Bills of tenants and payouts of developers', [preview, usage, payouts, developer, reconcile])
