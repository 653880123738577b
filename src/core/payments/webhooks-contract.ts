import { z } from 'zod'
import { admin, type Contract, endpoint, open, Paging } from '../contract/index.ts'
import { PaymentEvent } from './webhook.ts'

const base = '/api/admin/v1/webhooks'
const one = z.object({ id: z.string().min(1).max(255) })

/** Bytes of one event. */
export const maxEventBytes = 256 * 1024

/** Events of the payment provider: taken by their signature, listed and replayed by operators. */
export const webhooksContract = {
  receivePaymentEvent: endpoint({
    method: 'POST',
    audit: { none: 'the provider; what the event changes is audited' },
    path: '/api/webhooks/stripe',
    auth: open,
    unread: true,
    returns: z.object({ received: z.literal(true) }),
    problems: ['VALIDATION', 'PAYLOAD_TOO_LARGE', 'PAYMENTS_UNAVAILABLE'],
    summary: 'Take an event of the payment provider, with its signature in `Stripe-Signature`',
    spec: '4.7',
  }),
  listPaymentEvents: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    query: Paging.extend({ state: PaymentEvent.shape.state.optional(), type: z.string().min(1).max(100).optional() }),
    returns: z.object({ events: z.array(PaymentEvent), nextCursor: z.string().nullable() }),
    summary: 'List events of the payment provider, newest first; retained for 90 days',
  }),
  showPaymentEvent: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: admin('viewer'),
    params: one,
    returns: PaymentEvent,
    summary: 'Show an event of the payment provider',
  }),
  replayPaymentEvent: endpoint({
    method: 'POST',
    audit: 'payment.event-replayed',
    path: `${base}/:id/replay`,
    auth: admin('operator'),
    params: one,
    returns: PaymentEvent,
    summary: 'Apply an event again with its current object at the provider',
  }),
} as const satisfies Contract
