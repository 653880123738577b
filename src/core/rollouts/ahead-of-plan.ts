import type { Examination } from './examine-box.ts'
import { type Finding, type FindingCode, warn } from './finding.ts'

const backwards: readonly FindingCode[] = ['DOWNGRADE', 'MIGRATIONS_BACK']

/** Whether the box would have to go back: only then it matters who brought it further. */
export const goesBack = ({ findings }: Examination): boolean => findings.some(({ code }) => backwards.includes(code))

/**
 * A box that would have to go back is refused. When an emergency brought it further since the plan was made, nothing is wrong with it: it is
 * passed over instead, also where another component still lags behind, which the next rollout brings.
 */
export function aheadOfPlan(slug: string, found: Examination, emergency: string | null): Finding | undefined {
  if (emergency === null || !goesBack(found)) return undefined
  return warn('AHEAD_OF_PLAN', `${slug} is further than this plan would bring it since the emergency ${emergency}, and is left as it is`)
}
