import type { AlertKind, AlertStatus, TriedChannel } from '../../core/alerts/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import { clean, command, count, flag, oneOf, text } from '../kit/index.ts'
import { alertList, alertView } from './alerts.view.ts'

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

export const listAlerts = command(
  'list',
  'Alerts, what happened last first, and follow-up work that was given up',
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

export const showAlert = command(
  'show <number>',
  'An alert in full, who was told of it, and what to type next',
  {},
  ({ api }, { number }) => api.alerts.getAlert({ params: { id: alertNumber(number) } }),
  alertView,
)

export const acknowledgeAlert = command(
  'acknowledge <number>',
  'Say that somebody is on it: it is not sent again',
  {},
  ({ api }, { number }) => api.alerts.acknowledgeAlert({ params: { id: alertNumber(number) } }),
  ({ alert: { id, acknowledgedBy, command } }, { paint }) =>
    `${paint.green(`Alert ${id} is seen to by ${acknowledgedBy}.`)}\nNext: ${command}`,
)

export const resendAlert = command(
  'resend <number>',
  'Send the messages of an alert again that were given up',
  { all: flag('--all', 'send it anew to everybody who is set now') },
  ({ api }, { number, all }) => api.alerts.resendAlert({ params: { id: alertNumber(number) }, body: { which: all ? 'all' : 'dead' } }),
  ({ alert: { id, deliveries } }) => `${plural(deliveries.pending, 'message')} on the way. What became of them: tenantry alerts show ${id}`,
)

type Tried = Readonly<{ tried: readonly TriedChannel[] }>

export const testChannels = command(
  'test',
  'Send a test to everybody who is set, and see what each channel says',
  { channel: oneOf('--channel <channel>', 'one channel only', ['mail', 'webhook']) },
  async ({ api, progress }, { channel }): Promise<Tried> => {
    const sending = await progress('sending')
    try {
      return await api.alerts.testAlerts({ body: channel ? { channel } : {} })
    } finally {
      sending.stop()
    }
  },
  ({ tried }, { paint }) =>
    tried
      .map(({ channel, target, ok, says }) => `${ok ? paint.green('✓') : paint.red('✗')} ${channel} to ${clean(target)}: ${clean(says)}`)
      .join('\n'),
  { exit: ({ tried }) => (tried.every(({ ok }) => ok) ? 0 : 1) },
)

/** Alerts have numbers, which are short to type. Throws USAGE. */
function alertNumber(given: string): number {
  const id = Number(given)
  if (Number.isInteger(id) && id > 0) return id
  throw problem('USAGE', `${given}: give the number of an alert; \`tenantry alerts list\` shows them`)
}
