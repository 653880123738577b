// Rollouts: who is updated when, how it goes, and what an operator can do about it. States, counts and next commands are core's, as in the CLI.
// It updates nothing itself: each button asks the daemon, after its consequence was shown.
import { consoleFeature } from '../kit/index.ts'
import { useRolloutBadge } from './recent.ts'
import { searchRollouts } from './search.ts'
import { titles } from './titles.ts'

export { isOpen, recentRolloutsQuery } from './recent.ts'
export { rolloutTone } from './tones.ts'

export const rolloutsConsole = consoleFeature({
  name: 'rollouts',
  pages: [
    {
      path: '/rollouts',
      title: titles.list,
      load: () => import('./rollouts-page.tsx'),
      nav: { group: 'Fleet', label: titles.list, order: 2, shortcut: 'r', useBadge: useRolloutBadge },
    },
    {
      path: '/plan',
      title: titles.plan,
      load: () => import('./plan-page.tsx'),
      nav: { group: 'Fleet', label: titles.planNav, order: 3, shortcut: 'p' },
    },
    { path: '/rollouts/emergency', title: titles.emergency, load: () => import('./emergency-page.tsx') },
    { path: '/rollouts/$id', title: titles.list, load: () => import('./rollout-page.tsx') },
    { path: '/rollouts/$id/boxes/$slug', title: titles.box, load: () => import('./action-page.tsx') },
  ],
  live: { 'rollout.': ['rollouts'] },
  actions: [{ id: 'emergency', label: titles.emergency, detail: 'action', to: '/rollouts/emergency', role: 'admin' }],
  search: searchRollouts,
})
