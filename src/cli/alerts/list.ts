import { AlertKind, AlertStatus } from '../../core/alerts/index.ts'
import { command, count, oneOf, text } from '../kit/index.ts'
import { alertList } from './alerts.view.ts'

export const list = command(
  'list',
  'Alerts, what happened last first, and follow-up work that was given up',
  {
    status: oneOf('--status <status>', 'in one status', AlertStatus.options),
    kind: oneOf('--kind <kind>', 'of one kind', AlertKind.options),
    about: text('--about <subject>', 'about one box, rollout or host'),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, { about, ...query }) => api.alerts.listAlerts({ query: { ...query, ...(about ? { subject: about } : {}) } }),
  alertList,
  { examples: ['list --status open', 'list --about anna-schule'] },
)
