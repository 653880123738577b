import { alertsContract } from '../../core/alerts/index.ts'
import type { Random } from '../../core/kit/index.ts'
import { serveContract } from '../http/index.ts'
import type { AlertsDeps } from './channels.ts'
import { acknowledgeAlert, resendAlert, testAlerts } from './operator-actions.ts'
import { listAlerts, showAlert } from './read-alerts.ts'

export const alertsRoutes = (deps: AlertsDeps & Readonly<{ random: Random }>) =>
  serveContract(alertsContract, {
    listAlerts: ({ query }) => listAlerts(deps, query),
    getAlert: ({ params }) => showAlert(deps, params),
    acknowledgeAlert: ({ actor, params }) => acknowledgeAlert(deps, actor, params),
    resendAlert: ({ actor, params, body }) => resendAlert(deps, actor, { ...params, ...body }),
    testAlerts: ({ actor, body, signal }) => testAlerts(deps, actor, { ...body, signal }),
  })
