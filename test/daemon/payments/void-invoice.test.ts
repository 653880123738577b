import type Stripe from 'stripe'
import { expect, test } from 'vitest'
import { stripeInvoices } from '../../../src/daemon/payments/provider/stripe-invoices.ts'

type Stored = Readonly<{ status: string; isOfSubscription?: boolean; totalCents?: number }>

/** One invoice at a provider that deletes no draft of a subscription and voids no draft, as the real one. */
function aProvider({ status, isOfSubscription = false, totalCents = 1000 }: Stored) {
  const invoice = { id: 'in_1', status, parent: isOfSubscription ? { subscription_details: { subscription: 'sub_1' } } : null }
  const calls: string[] = []
  const invoices = {
    retrieve: async () => ({ ...invoice }),
    del: async () => {
      if (isOfSubscription) throw new Error('You can only delete draft one-off invoices')
      calls.push('delete')
    },
    finalizeInvoice: async (_: string, { auto_advance }: Readonly<{ auto_advance: boolean }>) => {
      calls.push(`finalize, auto_advance ${auto_advance}`)
      invoice.status = totalCents === 0 ? 'paid' : 'open'
      return { ...invoice }
    },
    voidInvoice: async () => {
      if (invoice.status !== 'open' && invoice.status !== 'uncollectible') throw new Error(`a ${invoice.status} invoice cannot be voided`)
      calls.push('void')
    },
  }
  const { voidInvoice } = stripeInvoices({ invoices } as unknown as Stripe, { collection: 'invoice', automaticTax: false })
  return voidInvoice({ key: 'k', invoiceId: 'in_1' }).then(() => calls)
}

test.each<[string, Stored, string[]]>([
  ['a draft of a subscription', { status: 'draft', isOfSubscription: true }, ['finalize, auto_advance false', 'void']],
  ['a draft without an amount', { status: 'draft', isOfSubscription: true, totalCents: 0 }, ['finalize, auto_advance false']],
  ['a draft of its own', { status: 'draft' }, ['delete']],
  ['an open one', { status: 'open', isOfSubscription: true }, ['void']],
  ['a paid one', { status: 'paid', isOfSubscription: true }, []],
])('an invoice is voided: %s', async (_, stored, calls) => {
  expect(await aProvider(stored)).toEqual(calls)
})
