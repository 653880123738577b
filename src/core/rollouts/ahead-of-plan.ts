import type { Examination } from './examine-box.ts'
import { type Finding, type FindingCode, warn } from './finding.ts'

const goesBack: readonly FindingCode[] = ['DOWNGRADE', 'MIGRATIONS_BACK']

/**
 * A box that would have to go back is refused. When an emergency brought it further since the plan was made, nothing is wrong with it: it is
 * passed over instead, also where another component still lags behind, which the next rollout brings.
 */
export function aheadOfPlan(slug: string, { findings }: Examination, emergency: string | null): Finding | undefined {
  if (emergency === null || !findings.some(({ code }) => goesBack.includes(code))) return undefined
  return warn('AHEAD_OF_PLAN', `${slug} is further than this plan would bring it since the emergency ${emergency}, and is left as it is`)
}
