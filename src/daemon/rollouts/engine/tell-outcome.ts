import { alertOf, closedByRestore, type NewAlert } from '../../../core/alerts/index.ts'
import type { Clock } from '../../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import type { Tx } from '../../db/index.ts'
import type { StoredAction } from '../actions.repo.ts'
import { keptForEnd } from './written-at-end.ts'

/** `before`: as it was while it was under way. `leftOpen`: users are on a version that proved nothing; `runsOther`: on an image that nobody asked for. */
type Outcome = Readonly<{ before: StoredAction; settled: StoredAction; leftOpen: boolean; runsOther: boolean }>

/** Whoever is to be woken for how a box ended, is. A box that was merely not touched wakes nobody: its rollout pauses and says so. */
export async function tellOutcome(tx: Tx, clock: Clock, { before, settled, ...how }: Outcome): Promise<void> {
  const isUpdated = settled.status === 'succeeded'
  const because = isUpdated ? 'an update of the box succeeded' : 'its agent has answered'
  const kinds = [...(before.overdueAt === null ? [] : ['deadline_overdue' as const]), ...(isUpdated ? mendedByUpdate : [])]
  const over = { subject: settled.tenantSlug, kinds, because }
  if (kinds.length > 0 && !keptForEnd(tx)?.over.push(over)) await closeAlerts(tx, clock, over)
  const alert = alertFor(settled, how)
  if (alert) await raiseAlert(tx, clock, alert)
}

/** What an earlier attempt, of whichever rollout, left to be seen to: the box is proven now. */
const mendedByUpdate = ['action_rolled_back', ...closedByRestore] as const

type How = Pick<Outcome, 'leftOpen' | 'runsOther'>

function alertFor(
  { rolloutId, tenantSlug: slug, attempt, status, error }: StoredAction,
  { leftOpen, runsOther }: How,
): NewAlert | undefined {
  const box = { rolloutId, slug, attempt, error }
  if (status === 'rollback_failed') return alertOf.rollback_failed(box)
  if (status === 'rolled_back') return alertOf.action_rolled_back(box)
  if (status !== 'failed') return undefined
  if (runsOther) return alertOf.wrong_image(box)
  if (leftOpen) return alertOf.box_reopened_unproven(box)
  return error?.code === 'PROBE_FAILED' ? alertOf.probe_failed(box) : undefined
}
