// Alerts to operators: the kinds, and what is sent about one.
// The text of an alert is in the feature that raises it. Nothing is sent from here, and no fact is ever a secret.
export {
  Alert,
  AlertChannel,
  AlertDelivery,
  AlertKind,
  AlertSeverity,
  AlertStatus,
  alertKey,
  DeadLetter,
  DeliveryStatus,
  type NewAlert,
} from './alert.ts'
export { AlertDetail, alertsContract, ChannelName, type ChannelState, type TriedChannel } from './contract.ts'
export { digestMessage } from './digest.ts'
export { matrixBody, ntfyBody, pagerDutyBody, slackBody } from './forms.ts'
export { alertKinds } from './kinds.ts'
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
export { type AlertError, firstOf, humanTime, quoted, reasonText } from './phrases.ts'
export { type ChannelRules, deliveryTime, isQuietHours, noRules, rulesText } from './rules.ts'
export { severestFirst } from './severity.ts'
