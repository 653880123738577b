import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import type { PaymentStatus } from '../marketplace/index.ts'
import type { ProviderEvent, ProviderSubscription } from './records.ts'

/** `waiting`: its job has not run to its end. */
const State = z.enum(['waiting', 'applied'])
export type PaymentEventState = z.infer<typeof State>

export const PaymentEvent = z.object({
  id: z.string(),
  type: z.string(),
  endpoint: z.enum(['platform', 'connect', 'thin']),
  objectKind: z.string().nullable(),
  objectId: z.string().nullable(),
  livemode: z.boolean(),
  eventAt: Timestamp.meta({ description: 'When the provider made it' }),
  createdAt: Timestamp.meta({ description: 'When it was received' }),
  state: State,
  outcome: z.string().nullable().meta({ description: 'What it did; `nothing to do` for what needs nothing' }),
  appliedAt: Timestamp.nullable(),
})
export type PaymentEvent = Readonly<z.infer<typeof PaymentEvent>>

const kinds: Readonly<Record<string, 'account' | 'subscription' | 'invoice' | 'charge' | 'refund' | 'dispute' | 'setup' | 'meter'>> = {
  'account.updated': 'account',
  'customer.subscription.created': 'subscription',
  'customer.subscription.updated': 'subscription',
  'customer.subscription.deleted': 'subscription',
  'customer.subscription.paused': 'subscription',
  'customer.subscription.resumed': 'subscription',
  'invoice.paid': 'invoice',
  'invoice.payment_failed': 'invoice',
  'invoice.finalization_failed': 'invoice',
  'invoice.overdue': 'invoice',
  'charge.refunded': 'charge',
  'refund.failed': 'refund',
  'invoice.voided': 'invoice',
  'invoice.marked_uncollectible': 'invoice',
  'charge.dispute.created': 'dispute',
  'charge.dispute.updated': 'dispute',
  'charge.dispute.closed': 'dispute',
  'checkout.session.completed': 'setup',
  'v1.billing.meter.error_report_triggered': 'meter',
}

/** The object that an event makes the platform read again (spec 4.7); null: none. An account counts only from the endpoint of connected accounts. */
export function objectToRead({ type, endpoint, objectId }: Pick<ProviderEvent, 'type' | 'endpoint' | 'objectId'>) {
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
  if (kind === undefined || objectId === null) return null
  return endpoint === endpoints[kind] ? { kind, id: objectId } : null
}

const endpoints = {
  ...{
    account: 'connect',
    subscription: 'platform',
    invoice: 'platform',
    charge: 'platform',
    refund: 'platform',
    dispute: 'platform',
    setup: 'platform',
    meter: 'thin',
  },
} as const

/** How a live subscription stands with its payments. */
export function paymentStatusOf({ status }: Pick<ProviderSubscription, 'status'>): PaymentStatus {
  if (status === 'past_due' || status === 'incomplete') return 'past_due'
  return status === 'unpaid' || status === 'paused' ? 'unpaid' : 'ok'
}
