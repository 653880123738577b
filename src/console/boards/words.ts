import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
  choose: 'Choose a tenant to see its boards and runs',
  tenant: 'Tenant',
  none: 'choose one',
  noBoards: 'This tenant has no boards',
  noRuns: 'No runs yet',
  noRunMatches: 'No run matches',
  sound: 'The check found nothing.',
  errors: (count: number) => `${plural(count, 'error')}: it cannot be published.`,
  warnings: (count: number) => plural(count, 'warning'),
  findings: 'Findings',
  graph: 'Graph',
  steps: 'Steps',
  older: 'Show older steps',
  newest: (count: number, command: string) => `The newest ${count}. All: ${command}`,
  kept: 'Variables, forms and reports are not shown: they belong to the tenant.',
  cancel: 'Cancel run',
  cancelTitle: 'Cancel this run?',
  cancelConsequence: 'The run ends as failed. Its open tasks, checkpoints and timers end; messages that were sent stay.',
  retry: 'Retry',
  retryTitle: 'Continue this run where it failed?',
  withVersion: (version: number) => `with version ${version} of the board`,
  retryVersion: (version: number) => `Continue with version ${version}`,
  retryVersionConsequence: (version: number) =>
    `Runs the failed element again, as version ${version} of the board has it. Refused if that version lacks something that the run holds.`,
  retryConsequence: 'Runs the failed element again. Elements that are done are not repeated.',
} as const
