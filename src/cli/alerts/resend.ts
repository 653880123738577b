import { plural } from '../../core/kit/index.ts'
import { command, flag } from '../kit/index.ts'
import { alertNumber } from './alert-number.ts'

export const resend = command(
  'resend <number>',
  'Send the messages of an alert again that were given up',
  { all: flag('--all', 'send it anew to everybody who is set now') },
  ({ api }, { number, all }) => api.alerts.resendAlert({ params: { id: alertNumber(number) }, body: { which: all ? 'all' : 'dead' } }),
  ({ alert: { id, deliveries } }) => `${plural(deliveries.pending, 'message')} on the way. What became of them: tenantry alerts show ${id}`,
)
