// Overview: whether anything is wrong, and what to press next. It shows what other pages own and changes nothing itself.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const overviewConsole = consoleFeature({
  name: 'overview',
  pages: [
    {
      path: '/',
      title: words.title,
      load: () => import('./overview-page.tsx'),
      nav: { group: 'Now', label: words.title, order: 0, shortcut: 'o' },
    },
  ],
  live: { 'rollout.': ['rollouts'] },
})
