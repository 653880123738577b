import type { RateLimits, TenantUse } from '../../core/limits/index.ts'
import { type Column, type Style, sections, table } from '../kit/index.ts'

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
