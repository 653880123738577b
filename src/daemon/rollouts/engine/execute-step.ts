import type { BoxCommandResult, RestoreResult, UpdateResult } from '../../../core/boxes/index.ts'
import type { Step } from '../../../core/rollouts/index.ts'
import { beginUpdate } from './begin-update.ts'
import { evaluateUpdate, failUpdate } from './finish-update.ts'
import { orderUpdate } from './order-update.ts'
import { advancePhase, pausePhase } from './phase.ts'
import { preflightUpdate } from './preflight-update.ts'
import { beginRollback } from './rollback/begin-rollback.ts'
import { evaluateRollback, failRollback } from './rollback/finish-rollback.ts'
import { orderRollback } from './rollback/order-rollback.ts'
import { preflightRollback } from './rollback/preflight-rollback.ts'
import { markOverdue, showProgress, showRollbackWait, showWait } from './show-progress.ts'
import type { LeasedRollout } from './under-lease.ts'

type Observed = BoxCommandResult<'tenant-box.report_versions'>
type Pulled = BoxCommandResult<'tenant-box.prefetch'>

/**
 * Executes one planned step in one transaction. The step checks there that what it was planned on is still true, and does nothing
 * otherwise. The hosts feature has validated each result by the kind of its command.
 */
export function executeStep(leased: LeasedRollout, step: Step): Promise<void> {
  switch (step.do) {
    case 'begin-update':
      return beginUpdate(leased, step.slug)
    case 'preflight-update':
      return preflightUpdate(leased, step, step.result as Observed)
    case 'order-update':
      return orderUpdate(leased, step, step.result as Pulled)
    case 'evaluate-update':
      return evaluateUpdate(leased, step, step.result as UpdateResult)
    case 'fail-update':
      return failUpdate(leased, step)
    case 'begin-rollback':
      return beginRollback(leased, step.slug)
    case 'preflight-rollback':
      return preflightRollback(leased, step, step.result as Observed)
    case 'order-rollback':
      return orderRollback(leased, step, step.result as Pulled)
    case 'evaluate-rollback':
      return evaluateRollback(leased, step, step.result as UpdateResult | RestoreResult)
    case 'fail-rollback':
      return failRollback(leased, step)
    case 'show-progress':
      return showProgress(leased, step)
    case 'show-wait':
      return showWait(leased, step)
    case 'show-rollback-wait':
      return showRollbackWait(leased, step)
    case 'mark-overdue':
      return markOverdue(leased, step)
    case 'pause':
      return pausePhase(leased, step.reason)
    case 'advance':
      return advancePhase(leased, step.from)
  }
}
