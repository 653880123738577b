// Sessions of operators: where each account is logged in, and ending one. Sessions of tenants' users are another page's.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const sessionsConsole = consoleFeature({
  name: 'sessions',
  pages: [
    {
      path: '/sessions',
      title: titles.title,
      load: () => import('./sessions-page.tsx'),
      nav: { group: 'System', label: titles.title, order: 9, shortcut: 'e' },
    },
  ],
})
