import { isoNow } from '../../core/kit/index.ts'
import type { ListedInvoice, ProviderSubscription } from '../../core/payments/index.ts'
import { recordAudit } from '../audit/index.ts'
import { findItem, type SubscriptionRecord } from '../marketplace/index.ts'
import { tenantById } from '../tenants/index.ts'
import type { PaymentsDeps } from './deps.ts'
import { newlyRefunded } from './follow-refund.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'provider'>
type Renewed = Readonly<{ row: SubscriptionRecord; found: ProviderSubscription }>

/** Whether the provider began a period after the uninstallation: its job came too late. Usage is reported up to the uninstallation alone. */
export const isRenewed = ({ row, found }: Renewed): boolean =>
  row.status === 'cancelled' &&
  row.priceModel === 'flat-monthly' &&
  row.cancelledAt !== null &&
  Date.parse(row.cancelledAt) < Date.parse(found.currentPeriodStart)

/**
 * Pays every period back that began after the uninstallation, and ends the subscription at once. A draft cannot be refunded yet: false, and the caller
 * looks again. The subscription ends last, so that a process that is killed continues here.
 */
export async function endRenewed(deps: Deps, { row, found }: Renewed): Promise<boolean> {
  const { db, clock, provider } = deps
  const { id, customerId } = found
  const all = await provider.listInvoices({ customerId, subscriptionId: id })
  const isAfter = ({ lines }: ListedInvoice) => lines.some(({ periodStart }) => Date.parse(periodStart) > Date.parse(row.cancelledAt ?? ''))
  const periods = all.filter((invoice) => invoice.status !== 'void' && isAfter(invoice))
  if (periods.some(({ status }) => status === 'draft')) return false
  for (const { id: invoiceId, status } of periods) {
    const key = `renewed:${invoiceId}:${isoNow(clock)}`
    if (status !== 'paid') {
      await provider.voidInvoice({ key, invoiceId })
      continue
    }
    await provider.refundInvoice({ key, invoiceId })
    const invoice = await provider.getInvoice(invoiceId)
    if (!invoice) continue
    await db.transaction().execute(async (tx) => {
      const refundedCents = await newlyRefunded(tx, clock, invoice)
      if (refundedCents <= 0) return
      const subject = (await tenantById(tx, row.tenantId))?.slug ?? row.tenantId
      const itemName = (await findItem(tx, row.itemId))?.name ?? row.itemId
      const data = {
        subscriptionId: id,
        invoiceId,
        itemName,
        refundedCents,
        currency: invoice.total.currency,
        uninstalledAt: row.cancelledAt,
      }
      await recordAudit(tx, clock, { actor: { kind: 'system', name: 'payments' }, action: 'payment.refunded', subject, data })
    })
  }
  await provider.cancelSubscription({ key: `renewed:${id}:${isoNow(clock)}`, id })
  return true
}
