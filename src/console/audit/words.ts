import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
  verify: 'Verify',
  verifying: 'Verifying…',
  verified: (chains: number) => `${plural(chains, 'chain')} verified`,
  broken: (chain: string, at: number | undefined) => `${chain} is broken${at === undefined ? '' : ` at entry ${at}`}`,
  more: 'Load older entries',
  none: 'No entry matches',
  noneYet: 'No entries yet',
  actor: 'Actor (admin:anna, token:*)',
  action: 'Action (rollout.paused)',
  subject: 'Subject',
  chain: 'Chain',
  from: 'From',
  to: 'To',
} as const
