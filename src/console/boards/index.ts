// Boards and runs of a tenant: the graph, the findings of its check, and how far each run is.
// It shows structure, states and times. Variables, forms and reports stay in the tenant.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const boardsConsole = consoleFeature({
  name: 'boards',
  pages: [
    {
      path: '/boards',
      title: titles.title,
      load: () => import('./boards-page.tsx'),
      nav: { group: 'Platform', label: titles.title, order: 50, shortcut: 'f' },
    },
    { path: '/boards/$slug/$id', title: titles.title, load: () => import('./board-page.tsx') },
    { path: '/runs/$slug/$id', title: titles.runs, load: () => import('./run-page.tsx') },
  ],
  live: { 'board.': ['boards'], 'run.': ['runs'], 'checkpoint.': ['runs'] },
})
