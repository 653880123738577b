import type { AlertKind, NewAlert } from './alert.ts'
import { auditBroken, rolloutSigned } from './audit-texts.ts'
import { drillFailed, fenceStuck, hostFrozen, proofOverdue, snapshotDamaged, snapshotOverdue } from './box-texts.ts'
import { followupsLate } from './followup-texts.ts'
import { moveStranded, restoreFailed } from './life-texts.ts'
import { budgetHigh } from './limit-texts.ts'
import {
  actionRolledBack,
  boxReopenedUnproven,
  deadlineOverdue,
  emergencyCreated,
  emergencyStarted,
  probeFailed,
  rollbackFailed,
  rolloutPaused,
  rolloutRolledBack,
  undoFailed,
  wrongImage,
} from './rollout-texts.ts'
import { accountsRemade, chatRefused, passwordsOld } from './user-texts.ts'

/** The text of every kind of alert, from the facts of the case. */
export const alertOf = {
  probe_failed: probeFailed,
  action_rolled_back: actionRolledBack,
  rollback_failed: rollbackFailed,
  deadline_overdue: deadlineOverdue,
  undo_failed: undoFailed,
  box_reopened_unproven: boxReopenedUnproven,
  wrong_image: wrongImage,
  rollout_paused: rolloutPaused,
  rollout_rolled_back: rolloutRolledBack,
  emergency_created: emergencyCreated,
  emergency_started: emergencyStarted,
  fence_stuck: fenceStuck,
  host_frozen: hostFrozen,
  snapshot_overdue: snapshotOverdue,
  snapshot_damaged: snapshotDamaged,
  drill_failed: drillFailed,
  proof_overdue: proofOverdue,
  restore_failed: restoreFailed,
  move_stranded: moveStranded,
  rollout_signed: rolloutSigned,
  audit_broken: auditBroken,
  budget_high: budgetHigh,
  chat_refused: chatRefused,
  accounts_remade: accountsRemade,
  passwords_old: passwordsOld,
  followups_late: followupsLate,
} as const satisfies Record<AlertKind, (facts: never) => NewAlert>
