import { countModules } from '../../../core/billing/index.ts'
import { isoIn, newId } from '../../../core/kit/index.ts'
import { isPaymentFailure } from '../../../core/payments/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { acquireLease, type DbOrTx, enqueueJob, forUpdate, releaseLease, type Tx } from '../../db/index.ts'
import { findVendor } from '../../marketplace/index.ts'
import { createOnce } from '../prices.ts'
import type { BillingDeps } from './deps.ts'
import { amountsOf, countedOf, lockStatements, type PayoutRow, storeCounted, vendorOf } from './make-statement.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider' | 'transferPayouts'>

const system = { kind: 'system', name: 'billing' } as const
const batch = 500
/** Longer than the calls of one transfer may take. */
const leaseMs = 5 * 60_000

export const transfersTopic = 'billing.transfers'
const dayMs = 24 * 60 * 60_000
/** That of the cron. */
const timeOfDay = '04:00:00.000Z'

/** Transfers what waits, and again each day: a transfer needs money that has arrived, days after the payment. */
export async function retryTransfers(deps: Deps, signal: AbortSignal): Promise<string> {
  const { transferred, waiting } = await transferStatements(deps, signal)
  signal.throwIfAborted()
  if (waiting > 0) await enqueueTransfers(deps)
  return `${transferred} transferred, ${waiting} waiting`
}

/** Once a day, whatever asks for it: equal jobs that are due at the same time run once. */
export const enqueueTransfers = ({ db, clock }: Pick<Deps, 'db' | 'clock'>): Promise<void> => {
  const runAt = `${isoIn(clock, dayMs).slice(0, 10)}T${timeOfDay}`
  const job = { topic: transfersTopic, payload: {}, key: transfersTopic, pool: 'payments', runAt } as const
  return db.transaction().execute((tx) => enqueueJob(tx, clock, job))
}

/** Transfers every statement that waits; one that cannot be transferred gets the reason. */
export async function transferStatements(deps: Deps, signal: AbortSignal): Promise<Readonly<{ transferred: number; waiting: number }>> {
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
      const done = await transferAlone(deps, row)
      if (done === 'transferred') total.transferred++
      if (typeof done === 'object') total.waiting++
      if (typeof done === 'object')
        await deps.db.updateTable('billing_payouts').set(done).where('id', '=', row.id).where('state', '=', 'waiting').execute()
    }
    last = rows.length
    after = rows.at(-1)?.id ?? after
  }
  return total
}

/** `settled`: nothing is left to transfer, or another process transfers it. An object: it waits. */
type Done = 'transferred' | 'settled' | Readonly<{ reason: string; destination?: null; transfer_attempt?: number }>

/** One process at a time: a refusal frees the statement for another account, and no other call may be under way then. */
async function transferAlone(deps: Deps, row: PayoutRow): Promise<Done> {
  const lease = await acquireLease(deps, { name: `billing-transfer:${row.id}`, owner: newId(deps.random, 'trf'), ttlMs: leaseMs })
  if (!lease) return 'settled'
  try {
    return await transfer(deps, row)
  } finally {
    await releaseLease(deps, lease)
  }
}

async function transfer(deps: Deps, { id, developer_id: developerId }: PayoutRow): Promise<Done> {
  const { db, provider } = deps
  const vendorId = await vendorOf(db, developerId)
  if (vendorId === null) return { reason: 'the developer has no vendor' }
  const vendor = await findVendor(db, { id: vendorId })
  if (!vendor?.paymentAccountId || vendor.paymentAccountStatus !== 'active' || !vendor.payoutsEnabled)
    return { reason: 'the vendor cannot be paid' }
  const row = await begin(deps, { id, developerId, vendorId, destination: vendor.paymentAccountId })
  const destination = row?.destination
  if (!row || !destination) return 'settled'
  const find = async () => (await provider.listTransfers(destination)).find(({ metadata }) => metadata.svc_payout === id)
  const key = `payout:${developerId}:${row.month}${row.transfer_attempt === 0 ? '' : `:${row.transfer_attempt}`}`
  const input = {
    ...{ destination, amount: { cents: row.net_cents, currency: row.currency }, description: `Modules, ${row.month}` },
    metadata: { svc_kind: 'payout', svc_payout: id },
  }
  try {
    const found = await find()
    // The amount was fixed before a call whose answer is lost.
    if (!found && reducedOf(await rowsOf(db, id)).length > 0)
      return {
        reason: `refunded or disputed since its transfer began. fix: transfer what is due of it by hand, with the metadata svc_payout=${id}`,
      }
    const made = found ?? (await createOnce(key, (one) => provider.createTransfer({ key: one, ...input }), find))
    await store(deps, row, { vendorId, transferId: made.id, destination })
    return 'transferred'
  } catch (error) {
    if (!isPaymentFailure(error)) throw error
    if (error.isRetryable) return { reason: error.message }
    // Nothing was transferred and this key never transfers: the developer may get another account, or the statement another amount.
    return { reason: error.message, destination: null, transfer_attempt: row.transfer_attempt + 1 }
  }
}

const rowsOf = (db: DbOrTx, payoutId: string) =>
  db.selectFrom('billing_usage').selectAll().where('payout_id', '=', payoutId).orderBy('id').execute()

/** Modules of which less is due than their statement counted. */
const reducedOf = (rows: Awaited<ReturnType<typeof rowsOf>>) => rows.map(countedOf).filter((one) => one.dueCents < one.countedCents)

type Begun = Readonly<{ id: string; developerId: string; vendorId: string; destination: string }>

/**
 * Deducts what was refunded or disputed since the statement was made, and fixes amount and account. From then on both stay, because a call without
 * answer is looked for and repeated with them; a refund after that is deducted from the next statement. Undefined: nothing is left to transfer.
 */
const begin = ({ db, clock }: Deps, { id, developerId, vendorId, destination }: Begun): Promise<PayoutRow | undefined> =>
  db.transaction().execute(async (tx) => {
    await lockStatements(tx, developerId)
    const row = await tx.selectFrom('billing_payouts').selectAll().where('id', '=', id).modifyEnd(forUpdate(tx)).executeTakeFirstOrThrow()
    if (row.state !== 'waiting') return undefined
    if (row.destination !== null) return row
    const due = await reduce(tx, clock, { row, vendorId })
    if (due.state !== 'waiting') return undefined
    await tx.updateTable('billing_payouts').set({ destination }).where('id', '=', id).execute()
    return { ...due, destination }
  })

async function reduce(tx: Tx, clock: Deps['clock'], { row, vendorId }: Readonly<{ row: PayoutRow; vendorId: string }>): Promise<PayoutRow> {
  const rows = await rowsOf(tx, row.id)
  const { changes, grossCents } = countModules(reducedOf(rows), row.gross_cents)
  const { feeCents, netCents } = await amountsOf(tx, { vendorId, grossCents })
  // A statement without a vendor has the fee of none, until its developer has one.
  const isSame = row.vendor_id !== null || feeCents === row.fee_cents
  if (changes.length === 0 && isSame) return row
  await storeCounted(tx, { rows, changes, payoutId: row.id })
  const isHeld = (changedId: string) => rows.some((one) => one.id === changedId && one.state === 'billed')
  const heldCents = changes.filter((one) => isHeld(one.id)).reduce((sum, { cents }) => sum - cents, row.held_cents)
  const isOver = netCents === 0
  const changed = {
    ...{ gross_cents: grossCents, fee_cents: feeCents, net_cents: netCents, held_cents: heldCents },
    ...{ state: isOver ? ('listed' as const) : row.state, reason: isOver ? 'everything was refunded or disputed' : row.reason },
  }
  await tx.updateTable('billing_payouts').set(changed).where('id', '=', row.id).execute()
  const data = {
    payoutId: row.id,
    month: row.month,
    from: row.gross_cents,
    grossCents,
    feeCents,
    netCents,
    heldCents,
    currency: row.currency,
  }
  await recordAudit(tx, clock, { actor: system, action: 'billing.payout-reduced', subject: row.developer_id, data })
  return { ...row, ...changed }
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
