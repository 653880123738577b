import type { AlertKind, AlertStatus } from '../../core/alerts/index.ts'
import { command, count, oneOf, text } from '../kit/index.ts'
import { alertList } from './alerts.view.ts'

// Named here once more, and compared by the compiler: the contract is not loaded before it is needed, help must be instant.
const statuses = Object.keys({ open: 0, acknowledged: 0, closed: 0 } satisfies Record<AlertStatus, 0>) as AlertStatus[]
const kinds = Object.keys({
  probe_failed: 0,
  action_rolled_back: 0,
  rollback_failed: 0,
  deadline_overdue: 0,
  undo_failed: 0,
  box_reopened_unproven: 0,
  wrong_image: 0,
  rollout_paused: 0,
  rollout_rolled_back: 0,
  emergency_created: 0,
  emergency_started: 0,
  fence_stuck: 0,
  host_frozen: 0,
  snapshot_overdue: 0,
  snapshot_damaged: 0,
  drill_failed: 0,
  proof_overdue: 0,
  restore_failed: 0,
  move_stranded: 0,
  rollout_signed: 0,
  audit_broken: 0,
  budget_high: 0,
  chat_refused: 0,
  accounts_remade: 0,
  passwords_old: 0,
  followups_late: 0,
} satisfies Record<AlertKind, 0>) as AlertKind[]

export const list = command(
  'list',
  'List alerts, newest first, and dead jobs',
  {
    status: oneOf('--status <status>', 'in one status', statuses),
    kind: oneOf('--kind <kind>', 'of one kind', kinds),
    about: text('--about <subject>', 'about one box, rollout or host'),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, { about, ...query }) => api.alerts.listAlerts({ query: { ...query, ...(about ? { subject: about } : {}) } }),
  alertList,
  { examples: ['list --status open', 'list --about anna-schule'] },
)
