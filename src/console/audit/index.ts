// Audit: who did what, searched by actor, action and subject, and whether the log is whole.
// It shows entries as they are hashed and changes none.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const auditConsole = consoleFeature({
  name: 'audit',
  pages: [
    {
      path: '/audit',
      title: titles.title,
      load: () => import('./audit-page.tsx'),
      nav: { group: 'System', label: titles.title, order: 10, shortcut: 'l' },
    },
  ],
})
