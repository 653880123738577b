import type Stripe from 'stripe'
import { expect, test } from 'vitest'
import { stripeInvoices } from '../../../src/daemon/payments/provider/stripe-invoices.ts'

/** A customer with 120 paid invoices; each call is counted. */
function aProvider() {
  const calls: string[] = []
  const invoice = (nth: number) => ({
    ...{ id: `in_${nth}`, customer: 'cus_1', status: 'paid', total: 1000, currency: 'eur', amount_paid: 1000, total_taxes: [] },
    ...{ created: 0, period_start: 0, period_end: 0, status_transitions: { finalized_at: 0 }, metadata: {}, parent: null },
    lines: { data: [] },
  })
  const invoices = {
    list: () => {
      calls.push('list')
      return Array.from({ length: 120 }, (_, nth) => invoice(nth))
    },
  }
  const invoicePayments = { list: async () => ({ data: [calls.push('payments')].slice(1) }) }
  const stripe = { invoices, invoicePayments } as unknown as Stripe
  return { calls, provider: stripeInvoices(stripe, { collection: 'charge', automaticTax: false }) }
}

test('a list of invoices reads no payments: 120 paid ones take one list', async () => {
  const { calls, provider } = aProvider()
  const listed = await provider.listInvoices({ customerId: 'cus_1' })
  expect(listed.reduce((sum, { paidCents }) => sum + paidCents, 0)).toBe(120_000)
  expect(calls).toEqual(['list'])
})
