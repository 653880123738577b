import { alertsContract } from '../../core/alerts/index.ts'
import type { Random } from '../../core/kit/index.ts'
import { type Served, serve } from '../http/index.ts'
import { acknowledgeAlert } from './acknowledge-alert.ts'
import { listAlerts } from './list-alerts.ts'
import type { AlertsNeeds } from './needs.ts'
import { resendAlert } from './resend-alert.ts'
import { showAlert } from './show-alert.ts'
import { testAlerts } from './test-alerts.ts'

export const alertsRoutes = (needs: AlertsNeeds & Readonly<{ random: Random }>): Served[] => [
  serve(alertsContract.listAlerts, ({ query }) => listAlerts(needs, query)),
  serve(alertsContract.getAlert, ({ params }) => showAlert(needs, params)),
  serve(alertsContract.acknowledgeAlert, ({ actor, params }) => acknowledgeAlert(needs, actor, params)),
  serve(alertsContract.resendAlert, ({ actor, params, body }) => resendAlert(needs, actor, { ...params, ...body })),
  serve(alertsContract.testAlerts, ({ actor, body, signal }) => testAlerts(needs, actor, { ...body, signal })),
]
