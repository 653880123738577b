import type { Selectable } from 'kysely'
import { countModules, type Month, payoutOf } from '../../core/billing/index.ts'
import { isoNow, newId } from '../../core/kit/index.ts'
import { defaultFeePercent } from '../../core/marketplace/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type DbOrTx, lockExclusive, type Tx } from '../db/index.ts'
import { findVendor } from '../marketplace/index.ts'
import type { PayoutTable } from './billing.tables.ts'
import type { BillingDeps } from './deps.ts'
import type { ModuleUsageRow } from './module-usage.repo.ts'

export type PayoutRow = Selectable<PayoutTable>
type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'currency' | 'transferPayouts'>
type Statement = Readonly<{ developerId: string; month: Month }>

const system = { kind: 'system', name: 'billing' } as const

/** Developers with modules that no statement has, or that were refunded after one. */
export async function developersToPay(db: DbOrTx): Promise<string[]> {
  const rows = await db
    .selectFrom('billing_usage')
    .select('developer_id')
    .distinct()
    .where(({ eb, or, and, ref }) =>
      or([
        and([eb('state', 'in', ['billed', 'paid']), eb('payout_id', 'is', null)]),
        and([eb('state', 'in', ['paid', 'refunded']), eb('counted_cents', '<>', eb(ref('price_cents'), '-', ref('refunded_cents')))]),
      ]),
    )
    .orderBy('developer_id')
    .execute()
  return rows.map(({ developer_id }) => developer_id)
}

/** Cents that are due of a module: nothing while its invoice is not paid. */
const dueCents = ({ state, price_cents, refunded_cents }: ModuleUsageRow): number => (state === 'paid' ? price_cents - refunded_cents : 0)

/**
 * Makes the statement of a developer and month: modules that were paid and that no statement has, less what was refunded of former ones. The amounts
 * are stored with the rows that they count in one transaction. False if there is nothing to state.
 */
export const makeStatement = (
  { db, clock, random, currency, transferPayouts }: Deps,
  { developerId, month }: Statement,
): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    await lockStatements(tx, developerId)
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
      .where('state', 'in', ['billed', 'paid', 'refunded'])
      .where('month', '<=', month)
      .orderBy('id')
      .execute()
    const held = rows.filter(({ state, payout_id }) => state === 'billed' && payout_id === null)
    const counted = countModules(rows.filter(({ state }) => state !== 'billed').map(countedOf))
    if (held.length === 0 && counted.changes.length === 0) return false
    const vendorId = await vendorOf(tx, developerId)
    const amounts = await amountsOf(tx, { vendorId, grossCents: counted.grossCents })
    const heldCents = held.reduce((sum, { price_cents }) => sum + price_cents, 0)
    const { deductedCents } = counted
    const id = newId(random, 'pyo')
    await tx
      .insertInto('billing_payouts')
      .values({
        ...{ id, developer_id: developerId, month, vendor_id: vendorId, gross_cents: amounts.grossCents, fee_cents: amounts.feeCents },
        ...{ net_cents: amounts.netCents, held_cents: heldCents, deducted_cents: deductedCents, currency },
        ...{ state: transferPayouts && amounts.netCents > 0 ? 'waiting' : 'listed', reason: null, destination: null },
        ...{ transfer_attempt: 0, transfer_id: null, created_at: isoNow(clock) },
      })
      .execute()
    await storeCounted(tx, { rows, changes: counted.changes, payoutId: id })
    const data = { payoutId: id, developerId, month, ...amounts, heldCents, deductedCents, currency }
    await recordAudit(tx, clock, { actor: system, action: 'billing.payout-listed', subject: developerId, data })
    return true
  })

/** One statement of a developer is made or changed at a time. */
export const lockStatements = (tx: Tx, developerId: string): Promise<void> => lockExclusive(tx, `billing-payout ${developerId}`)

export const countedOf = (row: ModuleUsageRow) => ({ id: row.id, dueCents: dueCents(row), countedCents: row.counted_cents })

type Amounts = Readonly<{ vendorId: string | null; grossCents: number }>

/** The fee is that of the vendor of the developer, as it is now. */
export async function amountsOf(tx: Tx, { vendorId, grossCents }: Amounts) {
  const vendor = vendorId === null ? undefined : await findVendor(tx, { id: vendorId })
  return payoutOf([{ cents: grossCents }], { feePercent: vendor?.applicationFeePercent ?? defaultFeePercent })
}

type Stored = Readonly<{
  rows: readonly ModuleUsageRow[]
  changes: readonly Readonly<{ id: string; cents: number }>[]
  /** The statement of rows that none had. */
  payoutId: string
}>

/** A module that a statement does not count any more belongs to none: a later one has it once it is paid. */
export async function storeCounted(tx: Tx, { rows, changes, payoutId }: Stored): Promise<void> {
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const { id, cents } of changes) {
    const row = byId.get(id) as ModuleUsageRow
    const counted = row.counted_cents + cents
    const statement = counted === 0 && row.state === 'billed' ? null : (row.payout_id ?? payoutId)
    await tx.updateTable('billing_usage').set({ counted_cents: counted, payout_id: statement }).where('id', '=', id).execute()
  }
}

export async function vendorOf(db: DbOrTx, developerId: string): Promise<string | null> {
  const row = await db.selectFrom('billing_developers').select('vendor_id').where('developer_id', '=', developerId).executeTakeFirst()
  return row?.vendor_id ?? null
}
