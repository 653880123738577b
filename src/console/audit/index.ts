// Audit: who did what, searched by actor, action and subject, and whether the log is whole.
// It shows entries as they are hashed and changes none.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const auditConsole = consoleFeature({
  name: 'audit',
  pages: [
    { path: '/audit', title: words.title, load: () => import('./audit-page.tsx'), nav: { group: 'System', label: words.title, order: 10 } },
  ],
})
