// Alerts: what happened that a person must hear of is kept, counted while it lasts, sent by mail and webhook, and closed when it is over.
// `raiseAlert` needs the transaction and the clock only; whom it goes to is decided when it is sent, by one replica, through the outbox.
// A message may come twice when its sender dies in between, always under the same id; it is never lost without being listed as dead.
// It decides nothing about rollouts or boxes, and nothing that it keeps or sends holds a secret.
import './alerts.tables.ts'

export { alertMetrics } from './alert-metrics.ts'
export { alertWork } from './alert-work.ts'
export { wasRaised } from './alerts.repo.ts'
export { alertsRoutes } from './alerts.routes.ts'
export { channelsOf } from './channels.ts'
export { closeAlerts, closeAlertsOf, type Over } from './close-alerts.ts'
export { forgetAlerts } from './forget-alerts.ts'
export { raiseAlert } from './raise-alert.ts'
export { makeSender } from './sender.ts'
export { tellBrokenAudit, tellWholeAudit } from './tell-broken-audit.ts'
