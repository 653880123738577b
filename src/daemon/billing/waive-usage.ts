import { type Month, monthBefore, monthOf, monthsBetween, type UsageRow } from '../../core/billing/index.ts'
import { type Actor, isoNow, plural, problem } from '../../core/kit/index.ts'
import { moneyText, sumsOf } from '../../core/payments/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { monthsBack, pricedRows } from './aggregate-usage.ts'
import type { BillingDeps } from './deps.ts'
import { moduleView } from './list-billing.ts'
import { insertRows, type ModuleUsageRow, modulesActiveIn } from './module-usage.repo.ts'
import { closeIfBilled } from './watch-unbilled.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'pricedModule'>
type Waived = Readonly<{ tenant: string; until: Month; reason: string }>

/**
 * Waives the modules of a tenant that are not billed up to and with a finished month, also those that no run has priced: for a tenant whose trial was
 * free. Throws NOT_FOUND, CONFLICT for a month that has not ended and for modules that a run is billing.
 */
export async function waiveUsage(deps: Deps, actor: Actor, { tenant: slug, until, reason }: Waived): Promise<{ usage: UsageRow[] }> {
  const { db, clock } = deps
  if (until >= monthOf(isoNow(clock))) throw problem('CONFLICT', `${until} has not ended. fix: waive a finished month`)
  const { id: tenantId } = await existingTenant(db, slug)
  const missing: ModuleUsageRow[] = []
  for (const month of monthsBetween(monthBefore(until, monthsBack - 1), until))
    missing.push(...(await pricedRows(deps, month, await modulesActiveIn(db, { tenantId, month }))))
  return db.transaction().execute(async (tx) => {
    // A month that is priced stays as it is.
    await insertRows(
      tx,
      missing.map((row) => ({ ...row, state: 'unbilled' as const })),
    )
    await assertNoneInBilling(tx, { tenantId, slug, until })
    const waived = await tx
      .updateTable('billing_usage')
      .set({ state: 'waived', reason, updated_at: isoNow(clock) })
      .where('tenant_id', '=', tenantId)
      .where('month', '<=', until)
      .where('state', '=', 'unbilled')
      .returningAll()
      .execute()
    if (waived.length === 0) return { usage: [] }
    const months = [...new Set(waived.map(({ month }) => month))].sort()
    const amounts = sumsOf(waived.map((row) => ({ cents: row.price_cents, currency: row.currency }))).map(moneyText)
    const data = { tenantId, until, reason, months, modules: waived.length, amounts }
    await recordAudit(tx, clock, { actor, action: 'billing.usage-waived', subject: slug, data })
    await closeIfBilled(tx, clock)
    const usage = waived.map((row): UsageRow => ({ ...moduleView(row), tenant: slug }))
    return { usage: usage.toSorted((a, b) => (`${a.month} ${a.subject}` < `${b.month} ${b.subject}` ? -1 : 1)) }
  })
}

type Until = Readonly<{ tenantId: string; slug: string; until: Month }>

/** A call without answer may have put them on an invoice. */
async function assertNoneInBilling(tx: Tx, { tenantId, slug, until }: Until): Promise<void> {
  const rows = await tx
    .selectFrom('billing_usage')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('month', '<=', until)
    .where('state', '=', 'planned')
    .execute()
  if (rows.length > 0)
    throw problem(
      'CONFLICT',
      `${plural(rows.length, 'module month')} of ${slug} is being billed. fix: wait until \`tenantry jobs list --topic billing.unbilled-modules\` is empty`,
    )
}
