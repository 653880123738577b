import { monthBefore, monthOf } from '../../../core/billing/index.ts'
import { type Actor, isoNow, plural, problem } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { findVendor } from '../../marketplace/index.ts'
import type { BillingDeps } from './deps.ts'
import { developersToPay, makeStatement } from './make-statement.ts'
import { enqueueTransfers, transferStatements } from './transfer-statements.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider' | 'currency' | 'transferPayouts'>

/**
 * Makes one statement for each developer and month: modules whose invoices were paid and not refunded, and that no statement has. What is not paid is
 * held for a later one; what was refunded after a statement is deducted from the next. With transfers on, the statement is transferred once.
 */
export async function payDevelopers(deps: Deps, signal: AbortSignal): Promise<string> {
  const month = monthBefore(monthOf(isoNow(deps.clock)))
  let made = 0
  for (const developerId of await developersToPay(deps.db)) {
    signal.throwIfAborted()
    if (await makeStatement(deps, { developerId, month })) made++
  }
  const { transferred, waiting } = await transferStatements(deps, signal)
  signal.throwIfAborted()
  if (waiting > 0) await enqueueTransfers(deps)
  return `${plural(made, 'statement')} made, ${transferred} transferred, ${waiting} waiting`
}

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
