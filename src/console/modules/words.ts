import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
  healthy: 'healthy in the last hour',
  unhealthy: 'unhealthy in the last hour',
  lastHour: 'Last hour',
  lastHourAside: 'steps of 5 minutes, all tenants and versions',
  tenants: (count: number) => plural(count, 'tenant'),
  calm: 'Every active module is healthy.',
  sick: (count: number) => `${plural(count, 'module')} ${count === 1 ? 'is' : 'are'} unhealthy.`,
  none: 'No module is approved yet',
  noneHint: 'Developers submit modules; reviewers approve them under Reviews.',
  withdraw: 'Withdraw',
  withdrawTitle: (id: string) => `Withdraw ${id}?`,
  withdrawConsequence: (active: number) =>
    `It stops within a second in ${plural(active, 'tenant')}, and no tenant can install it. Its data stays; restoring starts it again. Tenants see your reason.`,
  restore: 'Restore',
  restoreTitle: (id: string) => `Restore ${id}?`,
  restoreConsequence: 'All withdrawn versions run again where they are installed and active.',
  noRuns: 'no runs in the last hour',
} as const
