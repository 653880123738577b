// Accounts and API tokens of operators, as lists. Passwords and tokens are shown once, by the CLI that creates them.
// It changes nothing; sessions have a page of their own.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const adminConsole = consoleFeature({
  name: 'admin',
  pages: [
    {
      path: '/accounts',
      title: titles.accounts,
      role: 'admin',
      load: () => import('./accounts-page.tsx'),
      nav: { group: 'System', label: titles.accounts, order: 50 },
    },
    {
      path: '/tokens',
      title: titles.tokens,
      role: 'admin',
      load: () => import('./tokens-page.tsx'),
      nav: { group: 'System', label: titles.tokens, order: 60 },
    },
  ],
})
