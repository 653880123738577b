import { plural } from '../../core/kit/index.ts'

export const words = {
  title: 'Billing',
  usage: 'Usage of finished months',
  noUsage: 'No usage yet',
  preview: 'This month until now',
  noPreview: 'No charges this month.',
  payouts: 'Statements of developers',
  noPayouts: 'No statements yet',
  differences: 'Differences from the payment provider',
  compare: 'Compare',
  comparing: 'Comparing…',
  equal: (checked: number) => `No differences in ${plural(checked, 'tenant')}.`,
  found: (count: number) => `${plural(count, 'difference')}. Nothing was changed.`,
  unbilled: (count: number) => `${plural(count, 'amount')} not billed.`,
  billed: 'Everything of finished months is billed.',
  here: 'here',
  there: 'at the provider',
} as const
