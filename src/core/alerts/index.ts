// What an operator is told of when nobody looks: which kinds there are, what each says, and the line that a person types next.
// The texts are made of facts that rooms give; it sends nothing, and no secret is ever among the facts.
export {
  Alert,
  AlertChannel,
  AlertDelivery,
  AlertKind,
  AlertSeverity,
  AlertStatus,
  DeadLetter,
  DeliveryStatus,
  mendedByWayBack,
  type NewAlert,
} from './alert.ts'
export { AlertDetail, alertsContract, type TriedChannel } from './contract.ts'
export { manyAlerts, mostOfAKind, standsAlone } from './many-alerts.ts'
export { type AlertMessage, messageText, subjectLine, testMessage, webhookBody } from './message.ts'
export { alertOf } from './texts.ts'
