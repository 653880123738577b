import { plural } from '../../core/kit/index.ts'

export const words = {
  title: 'Flow boards',
  runs: 'Runs',
  choose: 'Choose a tenant to see its boards and runs',
  tenant: 'Tenant',
  none: 'choose one',
  noBoards: 'This tenant has no boards',
  noRuns: 'No run matches',
  sound: 'The check found nothing.',
  errors: (count: number) => `${plural(count, 'error')}: it cannot be published.`,
  warnings: (count: number) => plural(count, 'warning'),
  findings: 'Findings',
  graph: 'Graph',
  steps: 'Steps',
  kept: 'Variables, forms and reports are not shown: they belong to the tenant.',
  cancel: 'Cancel run',
  cancelTitle: 'Cancel this run?',
  cancelConsequence: 'The run ends as failed. Its open tasks, checkpoints and timers end; messages that were sent stay.',
  retry: 'Retry',
  retryTitle: 'Continue this run where it failed?',
  retryConsequence: 'Runs the failed element again. Elements that are done are not repeated.',
} as const
