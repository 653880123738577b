import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
  accountsAnswer: (count: number, locked: number) => `${plural(count, 'account')}${locked > 0 ? `, ${locked} locked` : ''}`,
  filterAccounts: 'Filter by name',
  never: 'never',
  tokensAnswer: (count: number) => plural(count, 'valid token'),
  filterTokens: 'Filter by name or creator',
  noTokens: 'No API tokens',
  noTokensHint: 'Scripts log in with a token.',
} as const
