// Alerts: what needs an operator, why, and the command to run next. Closing is the daemon's: it sees when a cause is gone.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export { alertTone } from './alert-tone.ts'
export { openAlertsQuery } from './queries.ts'

export const alertsConsole = consoleFeature({
  name: 'alerts',
  pages: [
    {
      path: '/alerts',
      title: words.title,
      load: () => import('./alerts-page.tsx'),
      nav: { group: 'Now', label: words.title, order: 2, shortcut: 'a' },
    },
    { path: '/alerts/channels', title: words.channels, load: () => import('./channels-page.tsx') },
    { path: '/alerts/$id', title: words.alert, load: () => import('./alert-page.tsx') },
  ],
  live: { 'rollout.paused': ['alerts'], 'rollout.failed': ['alerts'], 'rollout.rolled_back': ['alerts'] },
})
