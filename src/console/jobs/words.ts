import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
  calm: 'No job has failed.',
  dead: (count: number) => `${plural(count, 'job')} failed and ${count === 1 ? 'waits' : 'wait'} for you.`,
  noJobs: 'No job is waiting',
  noMatch: 'No job matches the filter',
  retry: 'Retry failed',
  retryTitle: 'Retry all failed jobs?',
  retryConsequence: (count: number) =>
    `${plural(count, 'failed job')} will be tried again now, each from its beginning. Nothing is lost if the cause still exists: they fail again.`,
  states: { waiting: 'waiting', away: 'server away', dead: 'failed' },
  run: 'Run now',
  runTitle: (key: string) => `Run ${key} now?`,
  runConsequence: 'Runs once beside its schedule. The next scheduled run stays as it is.',
  lastFailed: (count: number) => `The last run of ${plural(count, 'schedule')} failed.`,
  cronsCalm: (ran: number) =>
    ran === 0 ? 'No schedule has run yet.' : `${plural(ran, 'schedule')} ran, and the last run of each succeeded.`,
  history: 'Runs',
  noRuns: 'It has not run yet.',
  noEvents: 'No event of the payment provider',
  noEventsHint: 'Events arrive once webhooks are set up at the provider.',
  replay: 'Replay',
  replayTitle: (id: string) => `Apply ${id} again?`,
  replayConsequence: 'Reads the current object at the provider and applies it. An event that was applied already changes nothing.',
} as const
