// Billing: usage and how it was billed, statements of developers, what a month will cost, and differences from the payment provider.
// It changes no bill: jobs of the daemon do.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const billingConsole = consoleFeature({
  name: 'billing',
  pages: [
    {
      path: '/billing',
      title: titles.title,
      load: () => import('./billing-page.tsx'),
      nav: { group: 'Platform', label: titles.title, order: 45, shortcut: 'i' },
    },
  ],
})
