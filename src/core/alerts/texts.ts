import type { AlertKind, NewAlert } from './alert.ts'
import {
  drillFailed,
  fenceStuck,
  hostFrozen,
  moveStranded,
  proofOverdue,
  restoreFailed,
  snapshotDamaged,
  snapshotOverdue,
} from './fleet-texts.ts'
import { moduleDataNotDeleted, moduleEventsSkipped } from './module-texts.ts'
import {
  accountsRemade,
  auditBroken,
  budgetHigh,
  chatRefused,
  jobsLate,
  passwordsOld,
  rolloutSigned,
  triggerMessagesUnread,
  triggerRoomEncrypted,
} from './platform-texts.ts'

import {
  actionRolledBack,
  boxReopenedUnproven,
  boxRollbackFailed,
  deadlineOverdue,
  emergencyCreated,
  emergencyStarted,
  probeFailed,
  rollbackFailed,
  rolloutPaused,
  rolloutRolledBack,
  wrongImage,
} from './rollout-texts.ts'
import { checkpointStalled, runOverdue } from './run-texts.ts'

/** Builds the text of each kind of alert from its facts. */
export const alertOf = {
  probe_failed: probeFailed,
  action_rolled_back: actionRolledBack,
  rollback_failed: rollbackFailed,
  deadline_overdue: deadlineOverdue,
  undo_failed: boxRollbackFailed,
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
  followups_late: jobsLate,
  checkpoint_stalled: checkpointStalled,
  run_overdue: runOverdue,
  trigger_room_encrypted: triggerRoomEncrypted,
  trigger_messages_unread: triggerMessagesUnread,
  module_data_not_deleted: moduleDataNotDeleted,
  module_events_skipped: moduleEventsSkipped,
} as const satisfies Record<AlertKind, (facts: never) => NewAlert>
