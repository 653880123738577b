// Billing: usage and how it was billed, statements of developers, what a month will cost, and differences from the payment provider.
// It changes no bill: jobs of the daemon do.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const billingConsole = consoleFeature({
  name: 'billing',
  pages: [
    {
      path: '/billing',
      title: words.title,
      load: () => import('./billing-page.tsx'),
      nav: { group: 'Platform', label: words.title, order: 45 },
    },
  ],
})
