import { fold } from '../../core/kit/index.ts'
import type { RateLimits, TenantUse } from '../../core/limits/index.ts'
import { type Column, type Context, command, count, flag, oneOf, type Style, sections, table } from '../kit/index.ts'

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
    const { showTop } = await import('./board.tsx')
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

const barCells = 20

const columns: readonly Column<TenantUse>[] = [
  { title: 'TENANT', value: ({ slug }) => slug, priority: 1, minWidth: 12 },
  { title: 'USED', value: ({ utilisation }) => `${utilisation.toFixed(1)} %`, priority: 1, align: 'right', paint: (use) => tintOf(use) },
  { title: '', value: (use) => barOf(use), priority: 4, paint: (use) => tintOf(use) },
  { title: 'REQUESTS', value: ({ used }) => used, priority: 2, align: 'right' },
  { title: 'A MINUTE', value: ({ budget }) => budget, priority: 2, align: 'right' },
  { title: 'HELD FOR', value: (use) => heldFor(use), priority: 2, align: 'right', paint: (use) => tintOf(use) },
  { title: 'PLAN', value: ({ plan }) => plan, priority: 3 },
  { title: 'NAME', value: ({ name }) => name, priority: 3, minWidth: 10 },
]

const tintOf = ({ remaining, slowdownMs }: TenantUse) => (remaining === 0 ? 'red' : slowdownMs > 0 ? 'yellow' : undefined)

const barOf = ({ utilisation }: TenantUse): string => {
  const filled = Math.min(barCells, Math.round((utilisation / 100) * barCells))
  return '━'.repeat(filled) + '┄'.repeat(barCells - filled)
}

const heldFor = ({ remaining, slowdownMs }: TenantUse) =>
  remaining === 0 ? 'refused' : slowdownMs > 0 ? `${(slowdownMs / 1000).toFixed(2)} s` : null

/** A line each; what did not fit on the page is counted by nobody, so it says how to go on. */
export const limitsView = ({ tenants, nextCursor }: RateLimits, style: Style): string =>
  tenants.length === 0
    ? 'No tenant uses that much of its budget.'
    : sections(
        table(style, columns, tenants),
        nextCursor ? 'There are more: --limit <count>, or --above <percent> for those that matter' : '',
      )
