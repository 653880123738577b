// Marketplace: submissions of vendors and the decision about them, items with their state and price, vendors with their payment account.
// It calls no payment provider: the daemon does.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const marketplaceConsole = consoleFeature({
  name: 'marketplace',
  pages: [
    {
      path: '/marketplace',
      title: words.title,
      load: () => import('./items-page.tsx'),
      nav: { group: 'Platform', label: words.title, order: 40 },
    },
    { path: '/marketplace/vendors', title: words.vendors, load: () => import('./vendors-page.tsx') },
    { path: '/marketplace/submissions', title: words.submissions, role: 'reviewer', load: () => import('./submissions-page.tsx') },
    { path: '/marketplace/submissions/$id', title: words.submissions, role: 'reviewer', load: () => import('./submission-page.tsx') },
  ],
  live: { 'marketplace.': ['marketplace'] },
})
