import { command, list } from '../kit/index.ts'
import { planView } from './plan.view.ts'

export const plan = command(
  'plan',
  'Who would go when, from what to what, and what speaks against it; stores nothing',
  { target: list('--target <slugs>', 'only these boxes (commas, or several times)') },
  ({ api }, { target }) => api.rollouts.planRollout({ body: target.length > 0 ? { targetSlugs: [...target] } : {} }),
  planView,
)
