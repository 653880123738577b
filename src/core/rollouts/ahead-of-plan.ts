import type { Preflight } from './examine-box.ts'
import { type Finding, type FindingCode, warning } from './finding.ts'

const backwards: readonly FindingCode[] = ['DOWNGRADE', 'MIGRATIONS_BACK']

/** Whether the box would have to go back: only then it matters who brought it further. */
export const isDowngrade = ({ findings }: Preflight): boolean => findings.some(({ code }) => backwards.includes(code))

/**
 * A box that would have to go back is refused. When an emergency brought it further since the plan was made, nothing is wrong with it: it is
 * passed over instead, also where another component still lags behind, which the next rollout brings.
 */
export function aheadOfPlanFinding(slug: string, found: Preflight, emergency: string | null): Finding | undefined {
  if (emergency === null || !isDowngrade(found)) return undefined
  return warning('AHEAD_OF_PLAN', `${slug} is further than this plan would bring it since the emergency ${emergency}, and is left as it is`)
}
