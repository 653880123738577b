// `tenantry billing`: what tenants are charged, what developers are paid, and what differs from the payment provider.
// It decides nothing itself.
import { type Difference, usageKinds, usageStates } from '../../core/billing/index.ts'
import { problem } from '../../core/kit/index.ts'
import { command, count, noun, oneOf, text } from '../kit/index.ts'
import {
  type Compared,
  differenceList,
  type Payouts,
  type Previews,
  payoutList,
  previewList,
  type Usage,
  usageList,
  waivedList,
} from './billing.view.ts'

const month = text('--month <month>', 'a month such as 2026-11 (preview: default the present one)')
const tenant = text('--tenant <slug>', 'only this tenant')
const page = { limit: count('--limit <count>', 'max results'), cursor: text('--cursor <cursor>', 'pagination cursor') }

const preview = command('preview', 'Preview what tenants are charged for a month', {
  options: { month, tenant, ...page },
  run: ({ api }, query): Promise<Previews> => api.billing.previewBilling({ query }),
  view: previewList,
  reads: true,
  examples: ['preview --month 2026-11', 'preview --tenant anna-schule'],
})

const usage = command('usage', 'List usage of finished months and how it was billed', {
  options: { month, tenant, state: oneOf('--state <state>', 'filter by state', usageStates), ...page },
  run: ({ api }, query): Promise<Usage> => api.billing.listUsage({ query }),
  view: usageList,
  reads: true,
  examples: ['usage --month 2026-10', 'usage --state unbilled'],
})

const waive = command('waive <tenant>', 'Waive unbilled usage of a tenant', {
  options: {
    until: text('--until <month>', 'the last month to waive, such as 2026-10'),
    kind: oneOf('--kind <kind>', 'waive only these (default: both)', usageKinds),
    reason: text('--reason <text>', 'why; audited'),
  },
  run: ({ api }, { tenant: slug, until, kind, reason }) => {
    if (until === undefined || reason === undefined) throw problem('USAGE', 'pass --until 2026-10 and --reason "…"')
    return api.billing.waiveUsage({ body: { tenant: slug, until, kind, reason } })
  },
  view: waivedList,
  examples: ['waive anna-schule --until 2026-10 --reason "pilot without charge"'],
})

const payouts = command('payouts', 'List the statements of developers', {
  options: { month, ...page },
  run: ({ api }, query): Promise<Payouts> => api.billing.listPayouts({ query }),
  view: payoutList,
  reads: true,
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

const reconcile = command('reconcile', 'List differences from the payment provider', {
  options: { tenant },
  run: async ({ api }, { tenant: slug }): Promise<Compared> => {
    const differences: Difference[] = []
    let checked = 0
    // A page of the daemon ends after seconds.
    for (let cursor: string | undefined, isMore = true; isMore; ) {
      const found = await api.billing.reconcileBilling({ query: { cursor, tenant: slug } })
      differences.push(...found.differences)
      checked += found.checked
      cursor = found.nextCursor ?? undefined
      isMore = cursor !== undefined
    }
    return { differences, checked }
  },
  view: differenceList,
  reads: true,
  examples: ['reconcile', 'reconcile --tenant anna-schule'],
})

export const billing = noun('billing', 'Bills of tenants and payouts of developers', [preview, usage, waive, payouts, developer, reconcile])
