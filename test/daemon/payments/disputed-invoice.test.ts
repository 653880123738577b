import type Stripe from 'stripe'
import { expect, test } from 'vitest'
import { stripeInvoices } from '../../../src/daemon/payments/stripe-invoices.ts'

/** A paid invoice at the provider, whose charge stays `disputed` whatever the outcome. */
async function isDisputed(disputed: boolean, states: readonly string[]): Promise<boolean | undefined> {
  const charge = { id: 'ch_1', amount_refunded: 0, disputed }
  const payment = { id: 'inpay_1', payment: { payment_intent: { id: 'pi_1', latest_charge: charge } } }
  const invoice = { id: 'in_1', status: 'paid', amount_paid: 500, total: 500, currency: 'eur', created: 1, period_start: 1, period_end: 1 }
  const stripe = {
    invoices: { retrieve: async () => ({ ...invoice, lines: { data: [] } }) },
    invoicePayments: { list: async () => ({ data: [payment] }) },
    disputes: { list: async ({ charge: of }: { charge: string }) => ({ data: of === 'ch_1' ? states.map((status) => ({ status })) : [] }) },
  }
  const { getInvoice } = stripeInvoices(stripe as unknown as Stripe, { collection: 'charge', automaticTax: false })
  return (await getInvoice('in_1'))?.isDisputed
}

test.each([
  [false, [], false],
  [true, ['needs_response'], true],
  [true, ['under_review'], true],
  [true, ['lost'], true],
  [true, ['won'], false],
  [true, ['warning_closed'], false],
  [true, ['won', 'needs_response'], true],
  [true, ['won', 'won'], false],
  [true, [], true],
] as const)('a charge with disputed %s and disputes %j: the invoice is disputed: %s', async (disputed, states, expected) => {
  expect(await isDisputed(disputed, states)).toBe(expected)
})
