import { command, flag, many } from '../kit/index.ts'
import { planView } from './plan.view.ts'

export const allowLongFence = flag('--allow-long-fence', 'take boxes whose chat will be away for longer than fence.maxMinutes allows')

export const ignoreWindows = flag('--ignore-windows', 'update boxes outside their maintenance windows too')

export const plan = command(
  'plan',
  'Who would go when, from what to what, and what speaks against it; stores nothing',
  {
    target: many('--target <slugs>', 'only these boxes (commas, or several times)'),
    allowLongFence,
    ignoreWindows,
  },
  ({ api }, { target, ...body }) =>
    api.rollouts.planRollout({ body: { ...body, ...(target.length > 0 ? { targetSlugs: [...target] } : {}) } }),
  planView,
)
