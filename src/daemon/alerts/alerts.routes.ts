import { alertsContract } from '../../core/alerts/index.ts'
import type { Random } from '../../core/kit/index.ts'
import { type Served, serve } from '../http/index.ts'
import type { AlertsDeps } from './channels.ts'
import { acknowledgeAlert, resendAlert, testAlerts } from './operator-actions.ts'
import { listAlerts, showAlert } from './read-alerts.ts'

export const alertsRoutes = (deps: AlertsDeps & Readonly<{ random: Random }>): Served[] => [
  serve(alertsContract.listAlerts, ({ query }) => listAlerts(deps, query)),
  serve(alertsContract.getAlert, ({ params }) => showAlert(deps, params)),
  serve(alertsContract.acknowledgeAlert, ({ actor, params }) => acknowledgeAlert(deps, actor, params)),
  serve(alertsContract.resendAlert, ({ actor, params, body }) => resendAlert(deps, actor, { ...params, ...body })),
  serve(alertsContract.testAlerts, ({ actor, body, signal }) => testAlerts(deps, actor, { ...body, signal })),
]
