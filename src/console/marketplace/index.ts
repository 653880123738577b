// Marketplace: submissions of vendors and the decision about them, items with their state and price, vendors with their payment account.
// It calls no payment provider: the daemon does.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const marketplaceConsole = consoleFeature({
  name: 'marketplace',
  pages: [
    {
      path: '/marketplace',
      title: titles.title,
      load: () => import('./items-page.tsx'),
      nav: { group: 'Platform', label: titles.title, order: 40, shortcut: 'k' },
    },
    { path: '/marketplace/vendors', title: titles.vendors, load: () => import('./vendors-page.tsx') },
    { path: '/marketplace/vendors/$id', title: titles.vendors, load: () => import('./vendor-page.tsx') },
    { path: '/marketplace/submissions', title: titles.submissions, role: 'reviewer', load: () => import('./submissions-page.tsx') },
    { path: '/marketplace/submissions/$id', title: titles.submissions, role: 'reviewer', load: () => import('./submission-page.tsx') },
  ],
  live: { 'marketplace.': ['marketplace'] },
})
