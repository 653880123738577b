import { command } from '../kit/index.ts'
import { alertNumber } from './alert-number.ts'
import { alertView } from './alerts.view.ts'

export const show = command(
  'show <number>',
  'An alert in full, who was told of it, and what to type next',
  {},
  ({ api }, { number }) => api.alerts.getAlert({ params: { id: alertNumber(number) } }),
  alertView,
)
