// `tenantry alerts`: lists alerts and their deliveries, acknowledges them, resends messages, tests channels.
// It decides nothing: the daemon raises and closes alerts.
import { noun } from '../kit/index.ts'
import { acknowledgeAlert, listAlerts, listChannels, resendAlert, showAlert, testChannels } from './commands.ts'

export const alerts = noun('alerts', 'Alerts and their notifications', [
  listAlerts,
  showAlert,
  acknowledgeAlert,
  resendAlert,
  listChannels,
  testChannels,
])
