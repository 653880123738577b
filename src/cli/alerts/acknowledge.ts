import { command } from '../kit/index.ts'
import { alertNumber } from './alert-number.ts'

export const acknowledge = command(
  'acknowledge <number>',
  'Say that somebody is on it: it is not sent again',
  {},
  ({ api }, { number }) => api.alerts.acknowledgeAlert({ params: { id: alertNumber(number) } }),
  ({ alert: { id, acknowledgedBy, command } }, { paint }) =>
    `${paint.green(`Alert ${id} is seen to by ${acknowledgedBy}.`)}\nNext: ${command}`,
)
