// Jobs: work that is not done, scheduled jobs with their runs, and events of the payment provider.
// It retries, runs and replays; it schedules nothing itself.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const jobsConsole = consoleFeature({
  name: 'jobs',
  pages: [
    {
      path: '/jobs',
      title: titles.jobs,
      load: () => import('./jobs-page.tsx'),
      nav: { group: 'System', label: titles.jobs, order: 20, shortcut: 'j' },
    },
    {
      path: '/crons',
      title: titles.crons,
      load: () => import('./crons-page.tsx'),
      nav: { group: 'System', label: titles.crons, order: 30, shortcut: 'c' },
    },
    { path: '/crons/$key', title: titles.crons, load: () => import('./cron-page.tsx') },
    {
      path: '/webhooks',
      title: titles.webhooks,
      load: () => import('./webhooks-page.tsx'),
      nav: { group: 'System', label: titles.webhooks, order: 40, shortcut: 'w' },
    },
  ],
})
