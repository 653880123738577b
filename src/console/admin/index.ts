// Accounts and API tokens of operators, as lists. Passwords and tokens are shown once, by the CLI that creates them.
// It changes nothing; sessions have a page of their own.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const adminConsole = consoleFeature({
  name: 'admin',
  pages: [
    {
      path: '/accounts',
      title: words.accounts,
      role: 'admin',
      load: () => import('./accounts-page.tsx'),
      nav: { group: 'System', label: words.accounts, order: 50 },
    },
    {
      path: '/tokens',
      title: words.tokens,
      role: 'admin',
      load: () => import('./tokens-page.tsx'),
      nav: { group: 'System', label: words.tokens, order: 60 },
    },
  ],
})
