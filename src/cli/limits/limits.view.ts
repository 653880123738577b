import type { RateLimits, TenantUse } from '../../core/limits/index.ts'
import { type Column, type Style, sections, table } from '../kit/index.ts'

/** The query of one or many refreshes. */
export type TopQuery = Readonly<{ plan?: 'light' | 'pro' | 'dedicated'; above?: number; limit?: number }>

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
