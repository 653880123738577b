// Reviews: submissions of the module store with their findings shown in the source, and the decision about them.
// It runs nothing of a package: every text of a developer is shown as text.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const reviewsConsole = consoleFeature({
  name: 'reviews',
  pages: [
    {
      path: '/reviews',
      title: words.title,
      role: 'reviewer',
      load: () => import('./reviews-page.tsx'),
      nav: { group: 'Platform', label: words.title, order: 30 },
    },
    { path: '/reviews/$id', title: words.title, role: 'reviewer', load: () => import('./review-page.tsx') },
  ],
  live: { 'store.': ['reviews'] },
})
