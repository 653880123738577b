// Reviews: submissions of the module store with their findings shown in the source, and the decision about them.
// It runs nothing of a package: every text of a developer is shown as text.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const reviewsConsole = consoleFeature({
  name: 'reviews',
  pages: [
    {
      path: '/reviews',
      title: titles.title,
      role: 'reviewer',
      load: () => import('./reviews-page.tsx'),
      nav: { group: 'Platform', label: titles.title, order: 30, shortcut: 'v' },
    },
    { path: '/reviews/$id', title: titles.title, role: 'reviewer', load: () => import('./review-page.tsx') },
  ],
  live: { 'store.': ['reviews'] },
})
