import type { AlertKind, AlertStatus, TriedChannel } from '../../core/alerts/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import { clean, command, count, flag, oneOf, text } from '../kit/index.ts'
import { alertList, alertView } from './alerts.view.ts'

// Repeated here and checked by the compiler, because help must not load the contract.
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
  snapshot_store_lost: 0,
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
  cron_failed: 0,
  checkpoint_stalled: 0,
  run_overdue: 0,
  run_failed: 0,
  run_message_failed: 0,
  run_report_failed: 0,
  trigger_room_encrypted: 0,
  trigger_messages_unread: 0,
  trigger_failed: 0,
  module_data_not_deleted: 0,
  module_events_skipped: 0,
  paid_module_withdrawn: 0,
  review_due: 0,
  payment_failed: 0,
  payment_refunded: 0,
  payment_stuck: 0,
  payment_rejected: 0,
  payment_disputed: 0,
  refund_failed: 0,
  invoice_stuck: 0,
  usage_late: 0,
  usage_unbilled: 0,
  usage_rejected: 0,
  vendor_restricted: 0,
  plan_ended: 0,
  suspended_again: 0,
  plan_duplicate: 0,
  billing_differs: 0,
} satisfies Record<AlertKind, 0>) as AlertKind[]

export const listAlerts = command('list', 'List alerts, newest first, and dead jobs', {
  options: {
    status: oneOf('--status <status>', 'filter by status', statuses),
    kind: oneOf('--kind <kind>', 'filter by kind', kinds),
    about: text('--about <subject>', 'filter by box, rollout or host'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api }, { about, ...query }) => api.alerts.listAlerts({ query: { ...query, ...(about ? { subject: about } : {}) } }),
  view: alertList,
  examples: ['list --status open', 'list --about anna-schule'],
})

export const showAlert = command('show <number>', 'Show an alert, its notifications and the next command', {
  run: ({ api }, { number }) => api.alerts.getAlert({ params: { id: alertNumber(number) } }),
  view: alertView,
})

export const acknowledgeAlert = command('acknowledge <number>', 'Acknowledge an alert and stop its reminders', {
  run: ({ api }, { number }) => api.alerts.acknowledgeAlert({ params: { id: alertNumber(number) } }),
  view: ({ alert: { id, acknowledgedBy, command } }, { paint }) =>
    `${paint.green(`Alert ${id} acknowledged by ${acknowledgedBy}.`)}\nnext: ${command}`,
})

export const resendAlert = command('resend <number>', 'Resend failed notifications of an alert', {
  options: { all: flag('--all', 'send to all configured recipients') },
  run: ({ api }, { number, all }) => api.alerts.resendAlert({ params: { id: alertNumber(number) }, body: { which: all ? 'all' : 'dead' } }),
  view: ({ alert: { id, deliveries } }) => `${plural(deliveries.pending, 'message')} queued. Check delivery: tenantry alerts show ${id}`,
})

type Tried = Readonly<{ tried: readonly TriedChannel[] }>

export const testChannels = command('test', 'Send a test message to all configured recipients', {
  options: { channel: oneOf('--channel <channel>', 'test one channel only', ['mail', 'webhook']) },
  run: async ({ api, progress }, { channel }): Promise<Tried> => {
    const sending = await progress('sending')
    try {
      return await api.alerts.testAlerts({ body: channel ? { channel } : {} })
    } finally {
      sending.stop()
    }
  },
  view: ({ tried }, { paint }) =>
    tried
      .map(({ channel, target, ok, says }) => `${ok ? paint.green('✓') : paint.red('✗')} ${channel} to ${clean(target)}: ${clean(says)}`)
      .join('\n'),
  exit: ({ tried }) => (tried.every(({ ok }) => ok) ? 0 : 1),
})

/** Parses the number of an alert. Throws USAGE. */
function alertNumber(input: string): number {
  const id = Number(input)
  if (Number.isInteger(id) && id > 0) return id
  throw problem('USAGE', `${input} is not an alert number; \`tenantry alerts list\` shows them`)
}
