import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
  answer: (count: number) => `${plural(count, 'open session')}.`,
  own: 'own',
  all: 'of all accounts',
  whose: 'Show',
  kind: { console: 'web console', token: 'CLI or script' },
  end: 'End…',
  endTitle: (account: string) => `End a session of ${account}?`,
  endEffect: 'Its owner must log in again. Work that the daemon has begun continues.',
  endOwn: 'This is the session of this page: you will be logged out.',
  this: 'this one',
} as const
