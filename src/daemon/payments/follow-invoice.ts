import { alertKey } from '../../core/alerts/index.ts'
import type { ListedInvoice, ProviderInvoice, ProviderSubscription } from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert, wasRaised } from '../alerts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { findItem } from '../marketplace/index.ts'
import { tenantById } from '../tenants/index.ts'
import { paymentFailed, paymentFailedKey } from './alerts.ts'
import { tenantOfLink } from './attempts.repo.ts'
import { enqueueInvoiceMail } from './billing/failure-mails.ts'
import type { PaymentsDeps } from './deps.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'random'>

/** The name of an invoice of its own, which no subscription has. */
export const nameOfInvoice = ({ metadata }: Pick<ProviderInvoice, 'metadata'>): string =>
  metadata.svc_modules === undefined ? 'usage' : 'modules'

export const tenantOfCustomer = (db: DbOrTx, customerId: string) =>
  db.selectFrom('tenants').select(['id', 'slug']).where('payment_customer_id', '=', customerId).executeTakeFirst()

type OfInvoice = Pick<ProviderInvoice, 'customerId' | 'subscriptionId' | 'metadata'>

/**
 * The tenant of what an invoice charges, else that of its customer: the customer may be a former one of the tenant, or belong to another tenant now.
 * Undefined for a tenant that is deleted.
 */
export async function tenantOfInvoice(db: DbOrTx, { customerId, subscriptionId, metadata }: OfInvoice) {
  const id = (await tenantOfMetadata(db, metadata)) ?? (subscriptionId === null ? null : await tenantOfLink(db, subscriptionId))
  if (id === null) return tenantOfCustomer(db, customerId)
  return db.selectFrom('tenants').select(['id', 'slug']).where('id', '=', id).executeTakeFirst()
}

/** Invoices of modules and late usage name in their metadata what they are of. */
async function tenantOfMetadata(
  db: DbOrTx,
  { svc_modules: modules, svc_report: report }: ProviderInvoice['metadata'],
): Promise<string | null> {
  if (modules !== undefined) return modules.split(':')[0] ?? null
  if (report === undefined) return null
  const reports = db.selectFrom('billing_reports').select('tenant_id')
  return (await reports.where('id', '=', report.split(':')[0] ?? '').executeTakeFirst())?.tenant_id ?? null
}

/** States in which nothing more is collected, and why an alert about the invoice closes. */
const ends: Partial<Record<ProviderInvoice['status'], string>> = {
  paid: 'the invoice was paid',
  void: 'the invoice was voided',
  uncollectible: 'the invoice was marked uncollectible',
}

/** `ended`: the subscription of the invoice, which has ended. */
type Followed = Readonly<{ type: string; ended?: ProviderSubscription }>

/**
 * An invoice of its own, for modules or late usage, or the last one of a subscription that has ended: no subscription shows whether it is paid. An
 * unpaid one raises an alert and mails the tenant, once for each invoice.
 */
export const followUsage = ({ db, clock, random }: Deps, invoice: ProviderInvoice, { type, ended }: Followed): Promise<string> =>
  db.transaction().execute(async (tx) => {
    const { id, status, total } = invoice
    const tenant = ended ? await tenantById(tx, ended.metadata.svc_tenant ?? '') : await tenantOfInvoice(tx, invoice)
    if (ended && !tenant) return 'nothing to do: the tenant is deleted'
    const slug = tenant?.slug ?? 'billing'
    const key = paymentFailedKey(id)
    if ((type === 'invoice.payment_failed' || type === 'invoice.overdue') && status === 'open') {
      const itemName = ended ? await itemNameOf(tx, ended) : nameOfInvoice(invoice)
      const isFirst = !(await wasRaised(tx, key))
      const hasEnded = ended !== undefined
      await raiseAlert(tx, clock, paymentFailed({ slug, itemName, invoiceId: id, hasEnded }))
      if (isFirst && tenant)
        await enqueueInvoiceMail({ tx, clock, random }, { tenantId: tenant.id, invoiceId: id, itemName, amount: total, hasEnded })
    }
    const over = ends[status]
    if (over) await closeAlerts(tx, clock, { keys: [key], because: over })
    return `the invoice is ${status}`
  })

const itemNameOf = async (tx: Tx, { metadata }: ProviderSubscription): Promise<string> =>
  (await findItem(tx, metadata.svc_item ?? ''))?.name ?? metadata.svc_item ?? 'an item'

type Unpaid = Readonly<{ slug: string; found: ProviderSubscription; invoices: readonly ListedInvoice[] }>

/** The alert of a subscription that has ended continues as one for each of its unpaid invoices. The tenant got its mail before. */
export async function alertUnpaid(tx: Tx, clock: Deps['clock'], { slug, found, invoices }: Unpaid): Promise<void> {
  const itemName = await itemNameOf(tx, found)
  for (const { id } of invoices) await raiseAlert(tx, clock, paymentFailed({ slug, itemName, invoiceId: id, hasEnded: true }))
}

/** Its tenant is charged only after somebody completes it at the provider. */
export const stuckInvoice = ({ db, clock }: Deps, invoice: ProviderInvoice): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const tenant = await tenantOfInvoice(tx, invoice)
    const slug = tenant?.slug ?? 'billing'
    await raiseAlert(tx, clock, {
      kind: 'billing_incomplete',
      key: alertKey('billing_incomplete', `draft:${invoice.id}`),
      subject: slug,
      title: `An invoice of ${slug} could not be finalised`,
      body:
        `The payment provider could not finalise the invoice ${invoice.id}, usually because tax or address data of the customer is missing. ` +
        'It is not charged until somebody completes the data and finalises it in the Dashboard of the provider.',
      command: `tenantry tenants billing ${slug}`,
    })
  })
