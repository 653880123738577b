// Alerts: what needs an operator, why, and the command to run next. Closing is the daemon's: it sees when a cause is gone.
import { consoleFeature } from '../kit/index.ts'
import { useAlertBadge } from './badge.ts'
import { titles } from './titles.ts'

export { alertTone } from './alert-tone.ts'
export { alertsQuery, openAlertsQuery } from './queries.ts'

export const alertsConsole = consoleFeature({
  name: 'alerts',
  pages: [
    {
      path: '/alerts',
      title: titles.title,
      load: () => import('./alerts-page.tsx'),
      nav: { group: 'Now', label: titles.title, order: 2, shortcut: 'a', useBadge: useAlertBadge },
    },
    { path: '/alerts/channels', title: titles.channels, load: () => import('./channels-page.tsx') },
    { path: '/alerts/$id', title: titles.alert, load: () => import('./alert-page.tsx') },
  ],
  live: { 'rollout.paused': ['alerts'], 'rollout.failed': ['alerts'], 'rollout.rolled_back': ['alerts'] },
})
