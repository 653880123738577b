import type { ProviderDispute, ProviderInvoice } from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert, wasRaised } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { findItem, findSubscription } from '../marketplace/index.ts'
import { disputeKey, paymentDisputed } from './alerts.ts'
import type { PaymentsDeps } from './deps.ts'
import { nameOfInvoice, tenantOfCustomer, tenantOfInvoice } from './follow-invoice.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'provider'>

/**
 * Follows a dispute of a payment as it is now: an alert while it is open, another one if it is lost. It moves no money and uninstalls nothing: an
 * operator decides. `isClosing`: by the event that closed it, which is one. Returns what happened.
 */
export async function followDispute({ db, clock, provider }: Deps, id: string, isClosing: boolean): Promise<string> {
  const dispute = await provider.getDispute(id)
  if (!dispute) return 'the provider does not know the dispute'
  const invoice = dispute.invoiceId === null ? null : await provider.getInvoice(dispute.invoiceId)
  return db.transaction().execute(async (tx) => {
    const ofCustomer = dispute.customerId === null ? undefined : await tenantOfCustomer(tx, dispute.customerId)
    const tenant = invoice ? await tenantOfInvoice(tx, invoice) : ofCustomer
    if (!tenant && !invoice) return 'not a payment of a tenant'
    const { status, reason, dueBy, invoiceId, amount } = dispute
    const facts = { slug: tenant?.slug ?? 'billing', disputeId: id, invoiceId, amount, reason }
    const isLost = status === 'lost'
    const [open, key] = [disputeKey({ disputeId: id, isLost: false }), disputeKey({ disputeId: id, isLost })]
    const isKnown = await wasRaised(tx, key)
    if (status !== 'open') await closeAlerts(tx, clock, { keys: [open], because: `the dispute is ${status}` })
    const itemName = await nameOf(tx, invoice)
    // An event that comes late or twice opens no alert again that an operator has closed.
    if (status !== 'won' && !isKnown) await raiseAlert(tx, clock, paymentDisputed({ ...facts, itemName, dueBy, isLost }))
    if (status === 'won' ? isClosing : !isKnown) await audit({ clock, tx }, facts.slug, { ...dispute, item: itemName })
    return `the dispute is ${status}`
  })
}

async function nameOf(tx: Tx, invoice: ProviderInvoice | null): Promise<string> {
  if (!invoice?.subscriptionId) return invoice ? nameOfInvoice(invoice) : 'an unknown invoice'
  const row = await findSubscription(tx, { paymentSubscriptionId: invoice.subscriptionId })
  return (row && (await findItem(tx, row.itemId))?.name) ?? `the subscription ${invoice.subscriptionId}`
}

const audit = (
  { clock, tx }: Readonly<{ clock: Deps['clock']; tx: Tx }>,
  subject: string,
  { id, status, reason, amount, invoiceId, item }: ProviderDispute & Readonly<{ item: string }>,
) =>
  recordAudit(tx, clock, {
    ...{ actor: { kind: 'system', name: 'payments' } as const, action: 'payment.disputed', subject },
    data: { disputeId: id, status, reason, ...amount, invoiceId, item },
  })
