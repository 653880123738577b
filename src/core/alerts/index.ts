// Alerts to operators: the kinds, the text of each, and the command to run next.
// Texts are built from facts of the features. Nothing is sent from here, and no fact is ever a secret.
export {
  Alert,
  AlertChannel,
  AlertDelivery,
  AlertKind,
  AlertSeverity,
  AlertStatus,
  closedByRestore,
  DeadLetter,
  DeliveryStatus,
  type NewAlert,
} from './alert.ts'
export { AlertDetail, alertsContract, type TriedChannel } from './contract.ts'
export {
  type AlertMessage,
  foldedTenant,
  foldLimit,
  isNeverFolded,
  manyAlerts,
  messageText,
  subjectLine,
  testMessage,
  webhookBody,
} from './message.ts'
export { paidModuleWithdrawnKey } from './module-texts.ts'
export { paymentDisputedKey, paymentFailedKey, paymentRejectedKey, paymentStuckKey } from './payment-texts.ts'
export { cronFailedKey, lateJobsSubject, reviewDueKey } from './platform-texts.ts'
export { failedKey, overdueKey, reportKey, stalledKey } from './run-texts.ts'
export { alertOf } from './texts.ts'
