import { fold } from '../../core/kit/index.ts'
import type { RateLimits, TenantUse } from '../../core/limits/index.ts'
import { type Column, type Context, command, count, flag, oneOf, type Style, sections, table } from '../kit/index.ts'

/** The query of one or many refreshes. */
export type TopQuery = Readonly<{ plan?: 'light' | 'pro' | 'dedicated'; above?: number; limit?: number }>

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

const barCells = 20

const columns: readonly Column<TenantUse>[] = [
  { title: 'TENANT', value: ({ slug }) => slug, priority: 1, minWidth: 12 },
  { title: 'USED', value: ({ utilisation }) => `${utilisation.toFixed(1)} %`, priority: 1, align: 'right', paint: (use) => tintOf(use) },
  { title: '', value: (use) => barOf(use), priority: 4, paint: (use) => tintOf(use) },
  { title: 'REQUESTS', value: ({ used }) => used, priority: 2, align: 'right' },
  { title: 'BUDGET/MIN', value: ({ budget }) => budget, priority: 2, align: 'right' },
  { title: 'DELAY', value: (use) => delayOf(use), priority: 2, align: 'right', paint: (use) => tintOf(use) },
  { title: 'PLAN', value: ({ plan }) => plan, priority: 3 },
  { title: 'NAME', value: ({ name }) => name, priority: 3, minWidth: 10 },
]

const tintOf = ({ remaining, slowdownMs }: TenantUse) => (remaining === 0 ? 'red' : slowdownMs > 0 ? 'yellow' : undefined)

const barOf = ({ utilisation }: TenantUse): string => {
  const filled = Math.min(barCells, Math.round((utilisation / 100) * barCells))
  return '━'.repeat(filled) + '┄'.repeat(barCells - filled)
}

const delayOf = ({ remaining, slowdownMs }: TenantUse) =>
  remaining === 0 ? 'refused' : slowdownMs > 0 ? `${(slowdownMs / 1000).toFixed(2)} s` : null

/** One line per tenant. */
export const limitsView = ({ tenants, nextCursor }: RateLimits, style: Style): string =>
  tenants.length === 0
    ? 'No tenants.'
    : sections(table(style, columns, tenants), nextCursor ? 'More: raise --limit <count>, or filter with --above <percent>' : '')
