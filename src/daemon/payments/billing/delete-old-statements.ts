import { sql } from 'kysely'
import { monthBefore, monthOf } from '../../../core/billing/index.ts'
import { isoNow, plural } from '../../../core/kit/index.ts'
import { deleteInBatches } from '../../db/index.ts'
import type { BillingDeps } from './deps.ts'

const monthsKept = 120

/** Deletes statements of developers after ten years, and the usage that they count. A statement that was never paid stays. */
export async function deleteOldStatements({ db, clock }: Pick<BillingDeps, 'db' | 'clock'>, signal: AbortSignal): Promise<string> {
  const before = monthBefore(monthOf(isoNow(clock)), monthsKept)
  const isOld = {
    billing_payouts: sql`month < ${before} and state <> 'waiting'`,
    billing_usage: sql`month < ${before} and not exists (select 1 from billing_payouts as p where p.id = billing_usage.payout_id)`,
  }
  let deleted = 0
  for (const [table, where] of Object.entries(isOld)) deleted += await deleteInBatches(db, { table, where, signal })
  return plural(deleted, 'old row of statements', 'old rows of statements')
}
