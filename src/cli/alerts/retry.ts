import { plural } from '../../core/kit/index.ts'
import { command } from '../kit/index.ts'
import { alertNumber } from './alert-number.ts'

export const retry = command(
  'retry [letters...]',
  'Try follow-up work again that was given up, of any kind',
  {},
  ({ api }, { letters = [] }) => api.alerts.retryDeadLetters({ body: letters.length > 0 ? { ids: letters.map(alertNumber) } : {} }),
  ({ retried }) =>
    retried === 0 ? 'Nothing was given up.' : `${plural(retried, 'piece')} of work will be tried again. What is left: tenantry alerts list`,
  { examples: ['retry', 'retry 17 18'] },
)
