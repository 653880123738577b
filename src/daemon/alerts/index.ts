// Alerts to operators: raised and counted in the transaction of their cause, sent by mail and webhook, closed when the cause is gone.
// Delivery runs through the job queue: a message may arrive twice under one id, and is never lost without being listed as dead.
// It decides nothing about rollouts or boxes, and neither stores nor sends a secret.
import './alerts.tables.ts'

export { alertMetrics } from './alert-metrics.ts'
export { alertJobs } from './alerts.jobs.ts'
export { wasRaised } from './alerts.repo.ts'
export { alertsRoutes } from './alerts.routes.ts'
export { channelsOf, makeSender } from './channels.ts'
export { closeAlerts, closeAlertsOf, closeAuditBroken, type Resolved, raiseAuditBroken } from './close-alerts.ts'
export { deleteOldAlerts } from './delete-old-alerts.ts'
export { raiseAlert } from './raise-alert.ts'
