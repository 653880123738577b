import { frame } from './0001-frame.ts'
import { audit } from './0002-audit.ts'
import { admin } from './0003-admin.ts'
import { hosts } from './0004-hosts.ts'
import { boxes } from './0005-boxes.ts'
import { rollouts } from './0006-rollouts.ts'
import { crons } from './0007-crons.ts'
import { snapshots } from './0008-snapshots.ts'
import { lifeCycle } from './0009-life-cycle.ts'
import { hostCare } from './0010-hosts.ts'
import { rolloutsInFull } from './0011-rollouts-in-full.ts'
import { alerts } from './0012-alerts.ts'
import { proof } from './0013-proof.ts'
import { approvalFailures } from './0014-approval-failures.ts'
import { windows } from './0015-windows.ts'
import { undo } from './0016-undo.ts'
import { commandsOfHosts } from './0017-commands.ts'
import { users } from './0018-users.ts'
import { sessions } from './0019-sessions.ts'
import { limits } from './0020-limits.ts'
import { tenantEvents } from './0021-events.ts'
import { spaces } from './0022-spaces.ts'
import { files } from './0023-files.ts'
import { tasks } from './0024-tasks.ts'
import { userCare } from './0025-user-care.ts'
import { outboxQueues } from './0026-outbox-queues.ts'
import { newestFirst } from './0027-newest-first.ts'
import { contacts } from './0028-contacts.ts'
import { oldPasswords } from './0029-old-passwords.ts'
import { passwordTurns } from './0030-password-turns.ts'
import { lookBack } from './0031-look-back.ts'
import { whatGrows } from './0032-what-grows.ts'
import { databaseBack } from './0033-database-back.ts'
import { fixes } from './0035-fixes.ts'
import { jobRunAt } from './0036-job-run-at.ts'
import { formerKeys } from './0037-former-keys.ts'
import { queuedBehind } from './0038-queued-behind.ts'
import { boards } from './0039-boards.ts'
import { runs } from './0040-runs.ts'
import { supportAccess } from './0041-support-access.ts'
import { triggers } from './0042-triggers.ts'
import { automation } from './0043-automation.ts'
import { publishedSpace } from './0044-published-space.ts'
import { store } from './0045-store.ts'
import { modules } from './0046-modules.ts'
import { storeVersions } from './0047-store-versions.ts'
import { rolloutPace } from './0048-rollout-pace.ts'
import { moduleServices } from './0049-module-services.ts'
import { modulePublishing } from './0050-module-publishing.ts'
import { marketplace } from './0051-marketplace.ts'
import { payments } from './0052-payments.ts'
import { paymentEvents } from './0053-payment-events.ts'
import { downtime } from './0054-downtime.ts'
import { consoleSessions } from './0055-console-sessions.ts'
import { billing } from './0056-billing.ts'
import { snapshotMode } from './0057-snapshot-mode.ts'
import { openElements } from './0058-open-elements.ts'
import { restoredRepositories } from './0059-restored-repositories.ts'
import { refunds } from './0060-refunds.ts'
import { ownedModules } from './0061-owned-modules.ts'
import { hashedRequests } from './0062-hashed-requests.ts'
import { escalationRoles } from './0063-escalation-roles.ts'
import { tenantLimits } from './0065-tenant-limits.ts'
import { elementOwners } from './0066-element-owners.ts'
import { billingLists } from './0068-billing-lists.ts'
import { reportReasons } from './0069-report-reasons.ts'
import { goneAccounts } from './0070-gone-accounts.ts'
import { escalatedTasks } from './0071-escalated-tasks.ts'
import { boardCharacters } from './0072-board-characters.ts'
import { lostRepositories } from './0074-lost-repositories.ts'
import { botTokens } from './0076-bot-tokens.ts'
import { suspensionCauses } from './0078-suspension-causes.ts'
import { successorSalts } from './0079-successor-salts.ts'
import { erasedPasswords } from './0080-erased-passwords.ts'
import { sessionProofs } from './0082-session-proofs.ts'
import { chatTokenRenewals } from './0083-chat-token-renewals.ts'
import { drilledMedia } from './0084-drilled-media.ts'
import { fileObjects } from './0085-file-objects.ts'
import { noAcceptedDifferences } from './0086-no-accepted-differences.ts'
import type { Migration } from './migration.ts'

/** All migrations, in the order they are applied. Add at the end; never change or reorder what shipped. */
export const migrations: readonly Migration[] = [
  frame,
  audit,
  admin,
  hosts,
  boxes,
  rollouts,
  crons,
  snapshots,
  lifeCycle,
  hostCare,
  rolloutsInFull,
  alerts,
  proof,
  approvalFailures,
  windows,
  undo,
  commandsOfHosts,
  users,
  sessions,
  limits,
  tenantEvents,
  spaces,
  files,
  tasks,
  userCare,
  outboxQueues,
  newestFirst,
  contacts,
  oldPasswords,
  passwordTurns,
  lookBack,
  whatGrows,
  databaseBack,
  fixes,
  jobRunAt,
  formerKeys,
  queuedBehind,
  boards,
  runs,
  supportAccess,
  triggers,
  automation,
  publishedSpace,
  store,
  modules,
  storeVersions,
  rolloutPace,
  moduleServices,
  modulePublishing,
  marketplace,
  payments,
  paymentEvents,
  downtime,
  consoleSessions,
  billing,
  snapshotMode,
  openElements,
  restoredRepositories,
  refunds,
  ownedModules,
  hashedRequests,
  escalationRoles,
  tenantLimits,
  elementOwners,
  billingLists,
  reportReasons,
  goneAccounts,
  escalatedTasks,
  boardCharacters,
  lostRepositories,
  botTokens,
  suspensionCauses,
  successorSalts,
  erasedPasswords,
  sessionProofs,
  chatTokenRenewals,
  drilledMedia,
  fileObjects,
  noAcceptedDifferences,
]
