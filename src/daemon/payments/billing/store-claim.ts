import { alertKey, type NewAlert } from '../../../core/alerts/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { type Money, moneyText, type ProviderInvoiceItem } from '../../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { tenantById } from '../../tenants/index.ts'
import type { BillingDeps } from './deps.ts'
import type { ReportRow } from './plan-reports.ts'

const system = { kind: 'system', name: 'billing' } as const

export type Claimed = Readonly<{ invoiceItemId: string; invoiceId: string | null }>

/**
 * `before`: cents that former claims of the report charge. `former`: the item that the report names, undefined if it does not exist any more, null while
 * its invoice may still come. `deleted`: items that are charged again.
 */
type Stored = Readonly<{
  cents: number
  item: Claimed | null
  before: number
  former: ProviderInvoiceItem | undefined | null
  deleted: readonly ProviderInvoiceItem[]
}>

/** Stores what was claimed for a report, with an alert and in the audit log. A report that was raised meanwhile stays unsent. */
export const storeClaim = (
  { db, clock }: Pick<BillingDeps, 'db' | 'clock'>,
  row: ReportRow,
  { cents, item, before, former, deleted }: Stored,
): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const stored = await tx
      .updateTable('billing_reports')
      .set({
        ...{ sent_at: isoNow(clock), reason: null, claimed_cents: before + cents },
        ...(former !== null && { invoice_item_id: former?.id ?? null, invoice_id: former?.invoiceId ?? null }),
        ...(item && { invoice_item_id: item.invoiceItemId, invoice_id: item.invoiceId }),
      })
      .where('id', '=', row.id)
      .where('revision', '=', row.revision)
      .where('sent_at', 'is', null)
      .executeTakeFirst()
    const slug = (await tenantById(tx, row.tenant_id))?.slug ?? row.tenant_id
    const facts = { slug, month: row.month, cents, currency: row.currency, subscriptionId: row.payment_subscription_id }
    // The item of the report may have been deleted by a process that was killed before it stored that.
    const gone = [...deleted.map(({ id }) => id), ...(former === undefined && row.invoice_item_id !== null ? [row.invoice_item_id] : [])]
    const keys = gone.map(lateKey)
    if (keys.length > 0) await closeAlerts(tx, clock, { subject: slug, keys, because: 'the subscription ended, and the item was deleted' })
    if (stored.numUpdatedRows === 0n || !item) return
    await raiseAlert(tx, clock, lateAlert({ ...facts, invoiceItemId: item.invoiceItemId }))
    await recordAudit(tx, clock, { actor: system, action: 'billing.usage-claimed', subject: slug, data: { ...facts, ...item } })
  })

const lateKey = (invoiceItemId: string): string => alertKey('billing_incomplete', `late:${invoiceItemId}`)

type Late = Money & Readonly<{ slug: string; month: string; subscriptionId: string; invoiceItemId: string }>

/** Usage that came after its invoice. */
const lateAlert = ({ slug, month, cents, currency, subscriptionId, invoiceItemId }: Late): NewAlert => ({
  kind: 'billing_incomplete',
  key: lateKey(invoiceItemId),
  subject: slug,
  title: `Usage of ${slug} in ${month} came after its invoice`,
  body:
    `The invoice of the subscription ${subscriptionId} was final, so ${moneyText({ cents, currency })} were charged by the invoice item ${invoiceItemId}. ` +
    'The vendor gets its share with the payment, on an invoice of a subscription and on one of its own.\n' +
    'The platform keeps it if the account of the vendor could not receive transfers: check the invoice, and transfer the share by hand then.',
  command: `tenantry billing usage --tenant ${slug} --month ${month}`,
})
