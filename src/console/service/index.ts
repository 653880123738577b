// The settings of the daemon with their origin, read-only and without secrets.
// They change in the file or environment of the daemon alone.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const serviceConsole = consoleFeature({
  name: 'service',
  pages: [
    {
      path: '/settings',
      title: words.title,
      role: 'admin',
      load: () => import('./settings-page.tsx'),
      nav: { group: 'System', label: words.title, order: 70 },
    },
  ],
})
