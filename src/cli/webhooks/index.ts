// `tenantry webhooks`: events of the payment provider.
// It decides nothing itself.
import type { PaymentEventState } from '../../core/payments/index.ts'
import { clean, command, count, noun, oneOf, text } from '../kit/index.ts'
import { eventList, eventView } from './webhooks.view.ts'

const states = Object.keys({ waiting: 0, applied: 0 } satisfies Record<PaymentEventState, 0>) as PaymentEventState[]

const list = command('list', 'List events of the payment provider, newest first', {
  options: {
    state: oneOf('--state <state>', 'only events in this state', states),
    type: text('--type <type>', 'only events of this type, such as invoice.paid'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api }, query) => api.webhooks.listPaymentEvents({ query }),
  view: eventList,
  examples: ['list --state waiting', 'list --type customer.subscription.deleted'],
})

const show = command('show <event>', 'Show an event and what it did', {
  run: ({ api }, { event }) => api.webhooks.showPaymentEvent({ params: { id: event } }),
  view: eventView,
})

const replay = command('replay <event>', 'Apply an event again with its current object at the provider', {
  run: ({ api }, { event }) => api.webhooks.replayPaymentEvent({ params: { id: event } }),
  view: ({ id }) => `${clean(id)} is applied again. To follow: tenantry webhooks show ${clean(id)}`,
})

export const webhooks = noun('webhooks', 'Events of the payment provider', [list, show, replay])
