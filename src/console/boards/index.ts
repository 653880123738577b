// Boards and runs of a tenant: the graph, the findings of its check, and how far each run is.
// It shows structure, states and times. Variables, forms and reports stay in the tenant.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const boardsConsole = consoleFeature({
  name: 'boards',
  pages: [
    {
      path: '/boards',
      title: words.title,
      load: () => import('./boards-page.tsx'),
      nav: { group: 'Platform', label: words.title, order: 50 },
    },
    { path: '/boards/$slug/$id', title: words.title, load: () => import('./board-page.tsx') },
    { path: '/runs/$slug/$id', title: words.runs, load: () => import('./run-page.tsx') },
  ],
  live: { 'board.': ['boards'], 'run.': ['runs'], 'checkpoint.': ['runs'] },
})
