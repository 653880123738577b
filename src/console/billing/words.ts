import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
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
  planned: (count: number) => `${plural(count, 'amount')} waiting to be billed.`,
  notSetUp: 'Payments are not set up: nothing is charged.',
  billed: 'Everything of finished months is billed.',
  state: 'Status',
  noUsageInState: 'No usage with this status',
  newest: (count: number, command: string) => `The newest ${count}. All: ${command}`,
  firstTenants: (count: number, command: string) => `The first ${count} tenants by slug. All: ${command}`,
  here: 'here',
  there: 'at the provider',
} as const
