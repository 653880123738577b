import { fold } from '../../core/kit/index.ts'
import type { RateLimits } from '../../core/limits/index.ts'
import { type Context, command, count, flag, oneOf } from '../kit/index.ts'
import { limitsView } from './limits.view.ts'

/** What is asked for, once or again and again. */
export type TopQuery = Readonly<{ plan?: 'light' | 'pro' | 'dedicated'; above?: number; limit?: number }>

const usualSeconds = 2

export const top = command(
  'top',
  'Tenants by how much of their budget they use right now, live on a terminal',
  {
    plan: oneOf('--plan <plan>', 'of one plan', ['light', 'pro', 'dedicated']),
    above: count('--above <percent>', 'only those that use more than so many percent', 0),
    limit: count('--limit <count>', 'at most so many'),
    every: count('--every <seconds>', `how often it is asked anew (${usualSeconds})`),
    once: flag('--once', 'ask once and leave, also on a terminal'),
  },
  async (context, { plan, above, limit, every = usualSeconds, once }) => {
    const query: TopQuery = { ...(plan ? { plan } : {}), ...(above === undefined ? {} : { above }), ...(limit ? { limit } : {}) }
    if (context.json || once || !context.live) return asked(context, query)
    const { showTop } = await import('./board/show-top.tsx')
    return showTop(context, query, every * 1000)
  },
  () => '', // written while it runs: a board that was left is not told twice
  { examples: ['top', 'top --above 80 --once', 'top --plan light --limit 10 --json'] },
)

async function asked({ api, json, stdout, style }: Context, query: TopQuery): Promise<RateLimits> {
  const answer = await api.limits.rateLimits({ query })
  const seen = style()
  if (!json) stdout.write(`${fold(limitsView(answer, seen), seen.width)}\n`)
  return answer
}
