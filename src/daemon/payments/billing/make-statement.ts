import { type Selectable, sql } from 'kysely'
import { countModules, type Month, payoutOf } from '../../../core/billing/index.ts'
import { isoNow, newId } from '../../../core/kit/index.ts'
import { defaultFeePercent } from '../../../core/marketplace/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { type DbOrTx, forUpdate, lockExclusive, type Tx } from '../../db/index.ts'
import { findVendor } from '../../marketplace/index.ts'
import type { PayoutTable } from './billing.tables.ts'
import type { BillingDeps } from './deps.ts'
import type { ModuleUsageRow } from './module-usage.repo.ts'

export type PayoutRow = Selectable<PayoutTable>
type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'currency' | 'transferPayouts'>
type Statement = Readonly<{ developerId: string; month: Month }>

const system = { kind: 'system', name: 'billing' } as const

/**
 * Modules that change the next statement: not paid yet, paid and not counted, or refunded after they were counted. They are few among all that were
 * ever billed, and an index has them alone: it repeats this text.
 */
const isOpen = sql<boolean>`((state = 'billed' and payout_id is null)
  or (state = 'paid' and counted_cents <> price_cents - refunded_cents) or (state = 'refunded' and counted_cents <> 0))`

/** Developers with modules that no statement has, or that were refunded after one. */
export async function developersToPay(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('billing_usage').select('developer_id').distinct().where(isOpen).orderBy('developer_id').execute()
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
    const id = newId(random, 'pyo')
    const counted = await countOpen(tx, { developerId, month }, id)
    const heldCents = await heldOf(tx, { developerId, month })
    if (heldCents === 0 && counted.changes === 0) return false
    const vendorId = await vendorOf(tx, developerId)
    const amounts = await amountsOf(tx, { vendorId, grossCents: counted.grossCents })
    const { deductedCents } = counted
    await tx
      .insertInto('billing_payouts')
      .values({
        ...{ id, developer_id: developerId, month, vendor_id: vendorId, gross_cents: amounts.grossCents, fee_cents: amounts.feeCents },
        ...{ net_cents: amounts.netCents, held_cents: heldCents, deducted_cents: deductedCents, currency },
        ...{ state: transferPayouts && amounts.netCents > 0 ? 'waiting' : 'listed', reason: null, destination: null },
        ...{ transfer_attempt: 0, transfer_id: null, created_at: isoNow(clock) },
      })
      .execute()
    const data = { payoutId: id, developerId, month, ...amounts, heldCents, deductedCents, currency }
    await recordAudit(tx, clock, { actor: system, action: 'billing.payout-listed', subject: developerId, data })
    return true
  })

const pageSize = 1000

/** Counts what is due, then deducts what was refunded, a page at a time: the first statement after months may have tens of thousands of modules. A page of rows that others changed meanwhile may be short. */
async function countOpen(tx: Tx, of: Statement, payoutId: string) {
  const total = { changes: 0, grossCents: 0, deductedCents: 0 }
  for (const isDue of [
    sql<boolean>`counted_cents < price_cents - refunded_cents`,
    sql<boolean>`counted_cents > price_cents - refunded_cents`,
  ])
    for (let after = '', last = pageSize; last > 0; ) {
      const rows = await openOf(tx, of)
        .selectAll()
        .where('state', '<>', 'billed')
        .where(isDue)
        .where('id', '>', after)
        .orderBy('id')
        .limit(pageSize)
        .modifyEnd(forUpdate(tx))
        .execute()
      const counted = countModules(rows.map(countedOf), total.grossCents)
      await storeCounted(tx, { rows, changes: counted.changes, payoutId })
      total.changes += counted.changes.length
      total.grossCents = counted.grossCents
      total.deductedCents += counted.deductedCents
      last = rows.length
      after = rows.at(-1)?.id ?? after
    }
  return total
}

/** Billed and not paid. */
async function heldOf(tx: Tx, of: Statement): Promise<number> {
  const { cents } = await openOf(tx, of)
    .select(({ fn }) => fn.sum('price_cents').as('cents'))
    .where('state', '=', 'billed')
    .executeTakeFirstOrThrow()
  return Number(cents ?? 0)
}

const openOf = (tx: Tx, { developerId, month }: Statement) =>
  tx.selectFrom('billing_usage').where('developer_id', '=', developerId).where('month', '<=', month).where(isOpen)

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
  const added = changes.filter(({ cents }) => cents > 0).map(({ id }) => id)
  if (added.length > 0)
    await tx
      .updateTable('billing_usage')
      .set({ counted_cents: sql`price_cents - refunded_cents`, payout_id: sql`coalesce(payout_id, ${payoutId})` })
      .where('id', 'in', added)
      .execute()
  for (const { id, cents } of changes.filter((one) => one.cents < 0)) {
    const row = byId.get(id) as ModuleUsageRow
    const counted = row.counted_cents + cents
    const isUnpaid = row.state === 'billed' || row.state === 'void'
    const statement = counted === 0 && isUnpaid ? null : (row.payout_id ?? payoutId)
    await tx.updateTable('billing_usage').set({ counted_cents: counted, payout_id: statement }).where('id', '=', id).execute()
  }
}

export async function vendorOf(db: DbOrTx, developerId: string): Promise<string | null> {
  const row = await db.selectFrom('billing_developers').select('vendor_id').where('developer_id', '=', developerId).executeTakeFirst()
  return row?.vendor_id ?? null
}
