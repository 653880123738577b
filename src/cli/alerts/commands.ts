import { AlertKind, AlertStatus, type TriedChannel } from '../../core/alerts/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import { clean, command, count, flag, oneOf, text } from '../kit/index.ts'
import { alertList, alertView, channelList } from './alerts.view.ts'

export const listAlerts = command('list', 'List alerts, newest first, and dead jobs', {
  options: {
    status: oneOf('--status <status>', 'filter by status', AlertStatus.options),
    kind: oneOf('--kind <kind>', 'filter by kind', AlertKind.options),
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

export const listChannels = command('channels', 'List notification channels and their last outcome', {
  run: ({ api }) => api.alerts.listAlertChannels({}),
  view: channelList,
})

export const testChannels = command('test [channel]', 'Send a test message to all channels, or to one', {
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
  examples: ['test', 'test on-call'],
})

/** Parses the number of an alert. Throws USAGE. */
function alertNumber(input: string): number {
  const id = Number(input)
  if (Number.isInteger(id) && id > 0) return id
  throw problem('USAGE', `${input} is not an alert number; \`tenantry alerts list\` shows them`)
}
