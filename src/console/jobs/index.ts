// Jobs: work that is not done, scheduled jobs with their runs, and events of the payment provider.
// It retries, runs and replays; it schedules nothing itself.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const jobsConsole = consoleFeature({
  name: 'jobs',
  pages: [
    { path: '/jobs', title: words.jobs, load: () => import('./jobs-page.tsx'), nav: { group: 'System', label: words.jobs, order: 20 } },
    { path: '/crons', title: words.crons, load: () => import('./crons-page.tsx'), nav: { group: 'System', label: words.crons, order: 30 } },
    { path: '/crons/$key', title: words.crons, load: () => import('./cron-page.tsx') },
    {
      path: '/webhooks',
      title: words.webhooks,
      load: () => import('./webhooks-page.tsx'),
      nav: { group: 'System', label: words.webhooks, order: 40 },
    },
  ],
})
