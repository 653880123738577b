import { plural } from '../kit/index.ts'
import type { RolloutAction } from './action.ts'
import { rollbackState } from './after-rollback.ts'
import type { Finding } from './finding.ts'
import { phaseOrder } from './phases.ts'
import type { ActionCounts, Phase, RollbackCounts, Rollout, RolloutSummary } from './rollout.ts'
import { hasFailed, rolloutWord } from './words.ts'

/** Boxes that a plan does not update although they are behind, each with why: `linden: BOX_UNHEALTHY`. */
export const leftOutBoxes = (boxes: readonly Readonly<{ tenantSlug: string; findings: readonly Finding[] }>[]): string[] =>
  boxes.flatMap(({ tenantSlug, findings }) => {
    // An observed box is skipped with a warning.
    const codes = findings.filter(({ severity, code }) => severity === 'refuse' || code === 'NOT_MANAGED').map(({ code }) => code)
    return codes.length === 0 ? [] : [`${tenantSlug}: ${codes.join(', ')}`]
  })

/** `20 of 24 boxes updated`, or `3 of 20 boxes rolled back`: a box that waits for its rollback is no longer counted as updated. */
export const progressText = ({ rollback, succeeded, total, skipped }: ActionCounts): string =>
  rollback
    ? `${rollback.done} of ${plural(rollback.total, 'box', 'boxes')} rolled back`
    : `${succeeded} of ${plural(total - skipped, 'box', 'boxes')} updated`

/** Progress of the boxes, or of their rollback. */
export const countsText = (counts: ActionCounts): string =>
  [
    progressText(counts),
    ...(counts.rollback ? rollbackTexts(counts.rollback) : []),
    counts.running > (counts.rollback?.running ?? 0) && `${counts.running - (counts.rollback?.running ?? 0)} in progress`,
    counts.failed > 0 && `${counts.failed} failed`,
    rolledBackByAgent(counts) > 0 && `${rolledBackByAgent(counts)} ${counts.rollback ? 'failed before' : 'rolled back'}`,
    !counts.rollback && counts.rollbackFailed > 0 && `${counts.rollbackFailed} failed to roll back`,
    counts.skipped > 0 && `${counts.skipped} skipped`,
    counts.cancelled > 0 && `${counts.cancelled} cancelled`,
    counts.pending > 0 && `${counts.pending} pending`,
  ]
    .filter(Boolean)
    .join(', ')

/** Boxes that their agents rolled back during the update, without those rolled back with the rollout. */
const rolledBackByAgent = ({ rolledBack, rollback }: ActionCounts): number => rolledBack - (rollback?.done ?? 0)

const rollbackTexts = ({ running, pending, failed }: RollbackCounts) => [
  running > 0 && `${running} rolling back`,
  pending > 0 && `${pending} waiting`,
  failed > 0 && `${failed} failed to roll back`,
]

/** Boxes that failed, also those that their agents rolled back. */
export const failuresIn = (counts: ActionCounts): number => counts.failed + rolledBackByAgent(counts) + counts.rollbackFailed

/** `done (1 skipped)`; the column UPDATED has the others. */
export function listedState({ status, counts, bakeUntil }: Pick<RolloutSummary, 'status' | 'counts' | 'bakeUntil'>): string {
  if (bakeUntil && status !== 'paused') return `${status} (baking)`
  return rollbackState(counts) ?? (status === 'done' && counts.leftOut > 0 ? `done (${counts.leftOut} skipped)` : rolloutWord(status))
}

/** By the phase order of the rollout's kind. */
export const byPhase = ({ kind }: Pick<Rollout, 'kind'>) => {
  const order: readonly Phase[] = phaseOrder[kind]
  return (a: RolloutAction, b: RolloutAction) => order.indexOf(a.phase) - order.indexOf(b.phase)
}

/** A failure that no operator has left out. */
export const isOpenFailure = (action: RolloutAction): boolean => hasFailed(action) && !action.waived

export const pausedPhase = ({ status, previousStatus }: Pick<Rollout, 'status' | 'previousStatus'>): string =>
  status === 'paused' && previousStatus ? ` in ${previousStatus}` : ''

/** The findings that skipped a box; empty for a box that is simply up to date. */
export const skipReason = ({ status, findings }: RolloutAction): string | null =>
  status === 'skipped' ? findings.map(({ code }) => code).join(' ') : null
