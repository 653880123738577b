import { type Month, monthBefore, type Share, sharesOf } from '../../core/billing/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import type { ProviderInvoice } from '../../core/payments/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { paymentsOfInvoice, runAlone } from '../payments/index.ts'
import type { BillingDeps } from './deps.ts'
import { invoicesToRead } from './module-usage.repo.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider'>

/** One call each: a job that is interrupted repeats no more than these. */
const pageSize = 100
/** Refunds and disputes come later than that only in rare cases: their events are applied at any time. */
const monthsBack = 6

/** Reads a page of the invoices of modules again that may have been paid, refunded or disputed since. Returns its end; null on the last one. */
export async function readInvoices(deps: Deps, { month, after }: Page, signal: AbortSignal): Promise<string | null> {
  const ids = await invoicesToRead(deps.db, { since: monthBefore(month, monthsBack), after, limit: pageSize })
  for (const id of ids) {
    signal.throwIfAborted()
    const read = async () => {
      await applyInvoice(deps, { id, invoice: await deps.provider.getInvoice(id) })
      return id
    }
    // As for the event of a refund. The job is repeated.
    if ((await runAlone(deps, paymentsOfInvoice(id), read)) === undefined) throw new Error(`another process reads the invoice ${id}`)
  }
  return ids.length === pageSize ? (ids.at(-1) ?? null) : null
}

type Page = Readonly<{ month: Month; after: string }>

/** Stores what an invoice says about its modules. */
export async function applyInvoice(
  { db, clock }: Readonly<{ db: DbOrTx; clock: Deps['clock'] }>,
  { id, invoice }: Readonly<{ id: string; invoice: ProviderInvoice | null }>,
): Promise<void> {
  const rows = await db
    .selectFrom('billing_usage')
    .select(['id', 'price_cents', 'state', 'refunded_cents'])
    .where('invoice_id', '=', id)
    .where('state', 'in', ['billed', 'paid', 'refunded', 'void'])
    .orderBy('id')
    .execute()
  const shares = sharesOf(
    invoice,
    rows.map((row) => ({ id: row.id, priceCents: row.price_cents })),
  )
  const isNew = (share: Share, nth: number) => share.state !== rows[nth]?.state || share.refundedCents !== rows[nth]?.refunded_cents
  for (const share of shares.filter(isNew))
    await db
      .updateTable('billing_usage')
      .set({ state: share.state, refunded_cents: share.refundedCents, updated_at: isoNow(clock) })
      .where('id', '=', share.id)
      .where('state', 'in', ['billed', 'paid', 'refunded', 'void'])
      .execute()
}
