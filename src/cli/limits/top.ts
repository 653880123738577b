import { fold } from '../../core/kit/index.ts'
import type { RateLimits } from '../../core/limits/index.ts'
import { type Context, command, count, flag, oneOf } from '../kit/index.ts'
import { limitsView, type TopQuery } from './limits.view.ts'

const defaultSeconds = 2

export const top = command('top', 'Show request budget use by tenant, live on a terminal', {
  options: {
    plan: oneOf('--plan <plan>', 'filter by plan', ['light', 'pro', 'dedicated']),
    above: count('--above <percent>', 'min budget use in percent', 0),
    limit: count('--limit <count>', 'max results'),
    every: count('--every <seconds>', `refresh interval in seconds (default: ${defaultSeconds})`),
    once: flag('--once', 'print once and exit'),
  },
  run: async (context, { plan, above, limit, every = defaultSeconds, once }) => {
    const query: TopQuery = { ...(plan ? { plan } : {}), ...(above === undefined ? {} : { above }), ...(limit ? { limit } : {}) }
    if (context.json || once || !context.live) return printOnce(context, query)
    const { showTop } = await import('./board.tsx')
    return showTop(context, query, every * 1000)
  },
  view: () => '',
  examples: ['top', 'top --above 80 --once', 'top --plan light --limit 10 --json'],
})

async function printOnce({ api, json, stdout, style }: Context, query: TopQuery): Promise<RateLimits> {
  const limits = await api.limits.rateLimits({ query })
  const current = style()
  if (!json) stdout.write(`${fold(limitsView(limits, current), current.width)}\n`)
  return limits
}
