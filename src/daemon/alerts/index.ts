// Alerts to operators: raised and counted in the transaction of their cause, sent through every channel, closed when the cause is gone.
// Delivery runs through the job queue: a message may arrive twice under one id, and is never lost without being listed as dead.
// It decides nothing about rollouts or boxes, and neither stores nor sends a secret.
import './alerts.tables.ts'
import { alertsContract } from '../../core/alerts/index.ts'
import type { Random } from '../../core/kit/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { alertMetrics } from './alert-metrics.ts'
import { alertJobs } from './alerts.jobs.ts'
import type { AlertsDeps } from './channels.ts'
import { deleteOldAlerts } from './delete-old-alerts.ts'
import { acknowledgeAlert, resendAlert, testAlerts } from './operator-actions.ts'
import { listAlerts, showAlert } from './read-alerts.ts'
import { channelStates } from './read-channels.ts'

export { alertMetrics } from './alert-metrics.ts'
export { alertJobs } from './alerts.jobs.ts'
export { openKeysOf, openPaymentFailures, wasRaised, wasRaisedAbout } from './alerts.repo.ts'
export { channelsOf, makeSender } from './channels.ts'
export { closeAlerts, closeAuditBroken, raiseAuditBroken } from './close-alerts.ts'
export { deleteOldAlerts } from './delete-old-alerts.ts'
export { followCondition } from './follow-condition.ts'
export { raiseAlert } from './raise-alert.ts'
export { channelStates } from './read-channels.ts'
export { assertChannelFiles } from './send-to-service.ts'

const alertsRoutes = (deps: AlertsDeps & Readonly<{ random: Random }>) =>
  serveContract(alertsContract, {
    listAlerts: ({ query }) => listAlerts(deps, query),
    listAlertChannels: () => channelStates(deps),
    getAlert: ({ params }) => showAlert(deps, params),
    acknowledgeAlert: ({ actor, params }) => acknowledgeAlert(deps, actor, params),
    resendAlert: ({ actor, params, body }) => resendAlert(deps, actor, { ...params, ...body }),
    testAlerts: ({ actor, body, signal }) => testAlerts(deps, actor, { ...body, signal }),
  })

export const alertsFeature = feature<AlertsDeps & Readonly<{ random: Random }>>({
  name: 'alerts',
  routes: alertsRoutes,
  jobs: alertJobs,
  cleanup: (deps) => [() => deleteOldAlerts(deps)],
  metrics: ({ db }, registry) => alertMetrics({ db, registry }),
})
