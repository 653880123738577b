import { plural } from '../../core/kit/index.ts'
import { isPaymentFailure } from '../../core/payments/index.ts'
import type { PaymentsDeps } from './deps.ts'
import { createOnce } from './prices.ts'

type Deps = Pick<PaymentsDeps, 'provider'>

/**
 * A customer stored a means of payment on the set-up page: it becomes the default, and open invoices are collected by it. The events of the invoices
 * report how that ended.
 */
export async function followSetup({ provider }: Deps, sessionId: string): Promise<string> {
  const customerId = await provider.applySetup(sessionId)
  if (customerId === null) return 'nothing to do: not a set-up page of this platform'
  const isOpen = ({ status }: Readonly<{ status: string }>) => status === 'open'
  const open = await provider.listInvoices({ customerId, status: 'open' })
  let paid = 0
  for (const { id: invoiceId } of open) {
    const find = async () => {
      const found = await provider.getInvoice(invoiceId)
      return found && !isOpen(found) ? found : null
    }
    try {
      const done = await createOnce(`pay:${invoiceId}:${sessionId}`, (key) => provider.payInvoice({ key, invoiceId }), find)
      if (done.status === 'paid') paid++
    } catch (error) {
      if (!isPaymentFailure(error) || error.isRetryable) throw error
    }
  }
  return `${customerId} has a means of payment; ${paid} of ${plural(open.length, 'open invoice')} paid`
}
