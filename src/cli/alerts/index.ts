// `tenantry alerts`: what needs a person, who was told of it and whether that worked, and work that was given up.
// It decides nothing: the daemon raises and closes alerts; this shows them, says that somebody is on it, and sends again.
import { noun } from '../kit/index.ts'
import { acknowledgeAlert, listAlerts, resendAlert, showAlert, testChannels } from './commands.ts'

export const alerts = noun('alerts', 'What needs a person, and who was told', [
  listAlerts,
  showAlert,
  acknowledgeAlert,
  resendAlert,
  testChannels,
])
