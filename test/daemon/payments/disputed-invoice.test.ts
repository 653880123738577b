import type Stripe from 'stripe'
import { expect, test } from 'vitest'
import { stripeInvoices } from '../../../src/daemon/payments/provider/stripe-invoices.ts'

/** A paid invoice at the provider, whose charge stays `disputed` whatever the outcome. */
async function disputeOf(disputed: boolean, states: readonly string[], { lostCents = 500, refundedCents = 0 } = {}) {
  const charge = { id: 'ch_1', amount: 500, amount_refunded: refundedCents, disputed }
  const payment = { id: 'inpay_1', payment: { payment_intent: { id: 'pi_1', latest_charge: charge } } }
  const invoice = { id: 'in_1', status: 'paid', amount_paid: 500, total: 500, currency: 'eur', created: 1, period_start: 1, period_end: 1 }
  const stripe = {
    invoices: { retrieve: async () => ({ ...invoice, lines: { data: [] } }) },
    invoicePayments: { list: async () => ({ data: [payment] }) },
    disputes: {
      list: async ({ charge: of }: { charge: string }) => ({
        data: of === 'ch_1' ? states.map((status) => ({ status, amount: lostCents })) : [],
      }),
    },
  }
  const { getInvoice } = stripeInvoices(stripe as unknown as Stripe, { collection: 'charge', automaticTax: false })
  const found = await getInvoice('in_1')
  return [found?.isDisputed, found?.isLost]
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
  expect((await disputeOf(disputed, states))[0]).toBe(expected)
})

test.each([
  [['needs_response'], 500, 0, false],
  [['won'], 500, 0, false],
  [['lost'], 500, 0, true],
  [['lost', 'needs_response'], 500, 0, true],
  [['lost'], 100, 0, false],
  [['lost'], 400, 100, true],
  [['lost'], 300, 100, false],
] as const)(
  'disputes %j of %s cents of a payment of 500 with %s refunded: it is lost: %s',
  async (states, lostCents, refundedCents, expected) => {
    expect((await disputeOf(true, states, { lostCents, refundedCents }))[1]).toBe(expected)
  },
)
