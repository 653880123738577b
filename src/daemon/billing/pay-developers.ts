import type { Selectable } from 'kysely'
import { type Month, monthBefore, monthOf, payoutOf } from '../../core/billing/index.ts'
import { type Actor, isoNow, newId, plural, problem } from '../../core/kit/index.ts'
import { defaultFeePercent } from '../../core/marketplace/index.ts'
import { isPaymentFailure, type ProviderInvoice } from '../../core/payments/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type DbOrTx, forUpdate, lockExclusive } from '../db/index.ts'
import { findVendor } from '../marketplace/index.ts'
import { createOnce } from '../payments/index.ts'
import type { PayoutTable } from './billing.tables.ts'
import type { BillingDeps } from './deps.ts'
import { undecided } from './module-usage.repo.ts'

export type PayoutRow = Selectable<PayoutTable>
type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider' | 'log' | 'currency' | 'transferPayouts'>

const system = { kind: 'system', name: 'billing' } as const
const batch = 500

/**
 * Makes one statement for each developer and month: modules whose invoices were paid and not refunded, and that no statement has. What is not paid
 * is held for a later one. With transfers on, the statement is transferred once.
 */
export async function payDevelopers(deps: Deps, signal: AbortSignal): Promise<string> {
  const month = monthBefore(monthOf(isoNow(deps.clock)))
  if (deps.provider.name !== 'none') await readInvoices(deps, signal)
  let made = 0
  for (const developerId of await developersToPay(deps.db)) if (await makeStatement(deps, { developerId, month })) made++
  const { transferred, waiting } = await transferAll(deps, signal)
  return `${plural(made, 'statement')} made, ${transferred} transferred, ${waiting} waiting`
}

/** Reads the invoices of modules that are not paid, and those of statements that are not transferred, again. */
async function readInvoices(deps: Deps, signal: AbortSignal): Promise<void> {
  const { db, clock, provider } = deps
  const states = new Map<string, InvoiceState>()
  const read = async (id: string) => {
    const state = states.get(id) ?? stateOf(await provider.getInvoice(id), await owedOn(db, id))
    states.set(id, state)
    return state
  }
  for (let after = '', last = batch; last === batch && !signal.aborted; ) {
    const rows = await undecided(db, { after, limit: batch })
    for (const row of rows) {
      if (row.invoice_id === null) continue
      const state = await read(row.invoice_id)
      if (state === row.state) continue
      await db
        .updateTable('billing_usage')
        .set({ state, updated_at: isoNow(clock) })
        .where('id', '=', row.id)
        .where('state', '=', row.state)
        .execute()
    }
    last = rows.length
    after = rows.at(-1)?.id ?? after
  }
}

/** Sum of the prices of the modules on an invoice. */
async function owedOn(db: DbOrTx, invoiceId: string): Promise<number> {
  const rows = await db.selectFrom('billing_usage').select('price_cents').where('invoice_id', '=', invoiceId).execute()
  return rows.reduce((sum, { price_cents }) => sum + price_cents, 0)
}

type InvoiceState = 'billed' | 'paid' | 'refunded'

function stateOf(invoice: ProviderInvoice | null, owedCents: number): InvoiceState {
  // Disputed money may be lost: it is held, and an operator pays it by hand if the dispute is won.
  if (invoice?.status !== 'paid' || invoice.isDisputed) return 'billed'
  // An invoice has modules of several developers: which one a part was refunded for, only an operator knows.
  if (invoice.refundedCents > 0 && invoice.refundedCents < invoice.paidCents) return 'billed'
  if (invoice.refundedCents > 0) return 'refunded'
  // A credit balance, a credit note or a coupon settles an invoice without money: there is none to pass on.
  return invoice.paidCents >= owedCents ? 'paid' : 'billed'
}

async function developersToPay(db: DbOrTx): Promise<string[]> {
  const rows = await db
    .selectFrom('billing_usage')
    .select('developer_id')
    .distinct()
    .where('state', 'in', ['billed', 'paid'])
    .where('payout_id', 'is', null)
    .orderBy('developer_id')
    .execute()
  return rows.map(({ developer_id }) => developer_id)
}

type Statement = Readonly<{ developerId: string; month: Month }>

/** The amounts of a statement are fixed with its rows in one transaction. */
const makeStatement = ({ db, clock, random, currency, transferPayouts }: Deps, { developerId, month }: Statement): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    await lockExclusive(tx, `billing-payout ${developerId}`)
    const made = await tx
      .selectFrom('billing_payouts')
      .select('id')
      .where('developer_id', '=', developerId)
      .where('month', '=', month)
      .executeTakeFirst()
    if (made) return false
    const rows = await tx
      .selectFrom('billing_usage')
      .selectAll()
      .where('developer_id', '=', developerId)
      .where('state', 'in', ['billed', 'paid'])
      .where('payout_id', 'is', null)
      .where('month', '<=', month)
      .execute()
    const paid = rows.filter(({ state }) => state === 'paid')
    if (rows.length === 0) return false
    const vendorId = await vendorOf(tx, developerId)
    const vendor = vendorId === null ? undefined : await findVendor(tx, { id: vendorId })
    const amounts = payoutOf(
      paid.map(({ price_cents: cents }) => ({ cents })),
      { feePercent: vendor?.applicationFeePercent ?? defaultFeePercent },
    )
    const heldCents = rows.filter(({ state }) => state === 'billed').reduce((sum, { price_cents }) => sum + price_cents, 0)
    const id = newId(random, 'pyo')
    await tx
      .insertInto('billing_payouts')
      .values({
        ...{ id, developer_id: developerId, month, vendor_id: vendorId, gross_cents: amounts.grossCents, fee_cents: amounts.feeCents },
        ...{
          net_cents: amounts.netCents,
          held_cents: heldCents,
          currency,
          state: transferPayouts && amounts.netCents > 0 ? 'waiting' : 'listed',
        },
        ...{ reason: null, destination: null, transfer_id: null, created_at: isoNow(clock) },
      })
      .execute()
    if (paid.length > 0)
      await tx
        .updateTable('billing_usage')
        .set({ payout_id: id })
        .where('developer_id', '=', developerId)
        .where('state', '=', 'paid')
        .where('payout_id', 'is', null)
        .where('month', '<=', month)
        .execute()
    const data = { payoutId: id, developerId, month, ...amounts, heldCents, currency }
    await recordAudit(tx, clock, { actor: system, action: 'billing.payout-listed', subject: developerId, data })
    return true
  })

async function vendorOf(db: DbOrTx, developerId: string): Promise<string | null> {
  const row = await db.selectFrom('billing_developers').select('vendor_id').where('developer_id', '=', developerId).executeTakeFirst()
  return row?.vendor_id ?? null
}

async function transferAll(deps: Deps, signal: AbortSignal): Promise<Readonly<{ transferred: number; waiting: number }>> {
  const total = { transferred: 0, waiting: 0 }
  if (!deps.transferPayouts || deps.provider.name === 'none') return total
  for (let after = '', last = batch; last === batch && !signal.aborted; ) {
    const rows = await deps.db
      .selectFrom('billing_payouts')
      .selectAll()
      .where('state', '=', 'waiting')
      .where('id', '>', after)
      .orderBy('id')
      .limit(batch)
      .execute()
    for (const row of rows) {
      const reason = await transfer(deps, row)
      if (reason === null) total.transferred++
      else {
        total.waiting++
        await deps.db.updateTable('billing_payouts').set({ reason }).where('id', '=', row.id).where('state', '=', 'waiting').execute()
      }
    }
    last = rows.length
    after = rows.at(-1)?.id ?? after
  }
  return total
}

/** Returns why it was not transferred; null if it was. */
async function transfer(deps: Deps, row: PayoutRow): Promise<string | null> {
  const { db, provider } = deps
  const vendorId = await vendorOf(db, row.developer_id)
  if (vendorId === null) return 'the developer has no vendor'
  const vendor = await findVendor(db, { id: vendorId })
  if (!vendor?.paymentAccountId || vendor.paymentAccountStatus !== 'active' || !vendor.payoutsEnabled) return 'the vendor cannot be paid'
  const refunded = await refundedOf(db, row.id)
  if (refunded > 0) return `${plural(refunded, 'module month was', 'module months were')} refunded or disputed since the statement was made`
  // A lost answer may belong to the account that the developer had then.
  const destination = row.destination ?? (await fixDestination(deps, { id: row.id, destination: vendor.paymentAccountId }))
  const find = async () => (await provider.listTransfers(destination)).find(({ metadata }) => metadata.svc_payout === row.id)
  try {
    const made =
      (await find()) ??
      (await createOnce(
        `payout:${row.developer_id}:${row.month}`,
        (key) =>
          provider.createTransfer({
            ...{ key, destination, amount: { cents: row.net_cents, currency: row.currency } },
            ...{ description: `Modules, ${row.month}`, metadata: { svc_kind: 'payout', svc_payout: row.id } },
          }),
        find,
      ))
    await store(deps, row, { vendorId, transferId: made.id, destination })
    return null
  } catch (error) {
    if (!isPaymentFailure(error)) throw error
    return error.message
  }
}

/** The first destination stays: a transfer whose answer was lost is looked for there. */
const fixDestination = ({ db }: Deps, { id, destination }: Readonly<{ id: string; destination: string }>): Promise<string> =>
  db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom('billing_payouts')
      .select('destination')
      .where('id', '=', id)
      .modifyEnd(forUpdate(tx))
      .executeTakeFirstOrThrow()
    if (row.destination !== null) return row.destination
    await tx.updateTable('billing_payouts').set({ destination }).where('id', '=', id).execute()
    return destination
  })

async function refundedOf(db: DbOrTx, payoutId: string): Promise<number> {
  const rows = await db.selectFrom('billing_usage').select('state').where('payout_id', '=', payoutId).execute()
  return rows.filter(({ state }) => state !== 'paid').length
}

type Made = Readonly<{ vendorId: string; transferId: string; destination: string }>

const store = ({ db, clock }: Deps, row: PayoutRow, { vendorId, transferId, destination }: Made): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('billing_payouts')
      .set({ state: 'transferred', reason: null, transfer_id: transferId, vendor_id: vendorId })
      .where('id', '=', row.id)
      .where('state', '=', 'waiting')
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return
    const data = { payoutId: row.id, month: row.month, netCents: row.net_cents, currency: row.currency, transferId, destination, vendorId }
    await recordAudit(tx, clock, { actor: system, action: 'billing.payout-transferred', subject: row.developer_id, data })
  })

type Change = Readonly<{ id: string; vendorId: string | null }>

/** Sets whose account receives the payouts of a developer. Throws NOT_FOUND. */
export const setDeveloperVendor = ({ db, clock }: Pick<Deps, 'db' | 'clock'>, actor: Actor, { id, vendorId }: Change) =>
  db.transaction().execute(async (tx) => {
    const developer = await tx.selectFrom('store_developers').select('id').where('id', '=', id).executeTakeFirst()
    if (!developer)
      throw problem('NOT_FOUND', `Developer ${id} does not exist. fix: \`tenantry reviews show\` names the developer of a module`)
    if (vendorId !== null && !(await findVendor(tx, { id: vendorId })))
      throw problem('NOT_FOUND', `Vendor ${vendorId} does not exist. fix: \`tenantry marketplace vendors list\` lists vendors`)
    if (vendorId === null) await tx.deleteFrom('billing_developers').where('developer_id', '=', id).execute()
    else
      await tx
        .insertInto('billing_developers')
        .values({ developer_id: id, vendor_id: vendorId })
        .onConflict((c) => c.column('developer_id').doUpdateSet({ vendor_id: vendorId }))
        .execute()
    await recordAudit(tx, clock, { actor, action: 'billing.developer-vendor', subject: id, data: { vendorId } })
    return { developerId: id, vendorId }
  })
