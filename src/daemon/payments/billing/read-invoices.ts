import { type Month, monthBefore, sharesOf } from '../../../core/billing/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import type { ProviderInvoice } from '../../../core/payments/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import type { BillingDeps } from './deps.ts'
import { invoicesToRead } from './module-usage.repo.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider'>

/** One call each: a job that is interrupted repeats no more than these. */
const pageSize = 100
/** Refunds and disputes come later than that only in rare cases: their events are applied at any time. */
const monthsBack = 6

/** Reads a page of the invoices of modules again that may have been paid, refunded or disputed since. Returns its end; null on the last one. */
export async function readInvoices(deps: Deps, { month, after }: Page, signal: AbortSignal): Promise<string | null> {
  const ids = await invoicesToRead(deps.db, { since: monthBefore(month, monthsBack), after, limit: pageSize })
  for (const id of ids) {
    signal.throwIfAborted()
    // A state that an event stores while the invoice is read is newer: it stays.
    const before = await rowsOf(deps.db, id)
    await store(deps, before, await deps.provider.getInvoice(id))
  }
  return ids.length === pageSize ? (ids.at(-1) ?? null) : null
}

type Page = Readonly<{ month: Month; after: string }>

/** Stores what an invoice says about its modules. */
export const applyInvoice = async (deps: Stores, invoice: ProviderInvoice): Promise<void> =>
  store(deps, await rowsOf(deps.db, invoice.id), invoice)

const states = ['billed', 'paid', 'refunded', 'void'] as const

const rowsOf = (db: DbOrTx, invoiceId: string) =>
  db
    .selectFrom('billing_usage')
    .select(['id', 'price_cents', 'state', 'refunded_cents'])
    .where('invoice_id', '=', invoiceId)
    .where('state', 'in', states)
    .orderBy('id')
    .execute()

type Stores = Readonly<{ db: DbOrTx; clock: Deps['clock'] }>
type Rows = Awaited<ReturnType<typeof rowsOf>>

/** `rows`: as they were before the invoice was read. One that changed since stays. */
async function store({ db, clock }: Stores, rows: Rows, invoice: ProviderInvoice | null): Promise<void> {
  const shares = sharesOf(
    invoice,
    rows.map((row) => ({ id: row.id, priceCents: row.price_cents })),
  )
  for (const [nth, { id, state, refundedCents }] of shares.entries()) {
    const row = rows[nth] as Rows[number]
    if (state === row.state && refundedCents === row.refunded_cents) continue
    await db
      .updateTable('billing_usage')
      .set({ state, refunded_cents: refundedCents, updated_at: isoNow(clock) })
      .where('id', '=', id)
      .where('state', '=', row.state)
      .where('refunded_cents', '=', row.refunded_cents)
      .execute()
  }
}
