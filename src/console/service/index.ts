// The settings of the daemon with their origin, read-only and without secrets.
// They change in the file or environment of the daemon alone.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const serviceConsole = consoleFeature({
  name: 'service',
  pages: [
    {
      path: '/settings',
      title: titles.title,
      role: 'admin',
      load: () => import('./settings-page.tsx'),
      nav: { group: 'System', label: titles.title, order: 70 },
    },
  ],
})
