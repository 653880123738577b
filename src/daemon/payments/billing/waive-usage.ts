import { type Month, monthBefore, monthOf, monthsBetween, type UsageRow } from '../../../core/billing/index.ts'
import { type Actor, isoNow, plural, problem } from '../../../core/kit/index.ts'
import { moneyText, sumsOf } from '../../../core/payments/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { Tx } from '../../db/index.ts'
import { existingTenant } from '../../tenants/index.ts'
import { pricedRows } from './aggregate-usage.ts'
import { monthsBack } from './bill-modules.ts'
import type { BillingDeps } from './deps.ts'
import { moduleView, reportView } from './list-billing.ts'
import { insertRows, type ModuleUsageRow, modulesActiveIn } from './module-usage.repo.ts'
import { closeIfBilled } from './watch-unbilled.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'pricedModule'>
/** Without `kind` both. */
type Waived = Readonly<{ tenant: string; until: Month; reason: string; kind?: UsageRow['kind'] | undefined }>

/**
 * Waives what is not billed of a tenant up to and with a finished month: modules, also those that no run has priced, for a tenant whose trial was
 * free; and users whose payment customer is gone. Throws NOT_FOUND, CONFLICT for a month that has not ended and for modules that a run is billing.
 */
export async function waiveUsage(deps: Deps, actor: Actor, { tenant: slug, kind, ...input }: Waived): Promise<{ usage: UsageRow[] }> {
  const { db, clock } = deps
  const { until, reason } = input
  const now = isoNow(clock)
  if (until >= monthOf(now)) throw problem('CONFLICT', `${until} has not ended. fix: waive a finished month`)
  const { id: tenantId } = await existingTenant(db, slug)
  const missing = kind === 'users' ? [] : await unpriced(deps, { tenantId, until })
  return db.transaction().execute(async (tx) => {
    const open = { tenantId, slug, now, ...input }
    const waived = [
      ...(kind === 'users' ? [] : await waiveModules(tx, open, missing)),
      ...(kind === 'module' ? [] : await waiveReports(tx, open)),
    ]
    if (waived.length === 0) return { usage: [] }
    const months = [...new Set(waived.map(({ month }) => month))].sort()
    const data = { tenantId, until, reason, months, rows: waived.length, amounts: sumsOf(waived).map(moneyText) }
    await recordAudit(tx, clock, { actor, action: 'billing.usage-waived', subject: slug, data })
    await closeIfBilled(tx, clock)
    const usage = waived.map((row): UsageRow => ({ ...row, tenant: slug }))
    return { usage: usage.toSorted((a, b) => (`${a.month} ${a.subject}` < `${b.month} ${b.subject}` ? -1 : 1)) }
  })
}

async function unpriced(deps: Deps, { tenantId, until }: Pick<Open, 'tenantId' | 'until'>): Promise<ModuleUsageRow[]> {
  const rows: ModuleUsageRow[] = []
  for (const month of monthsBetween(monthBefore(until, monthsBack - 1), until))
    rows.push(...(await pricedRows(deps, month, await modulesActiveIn(deps.db, { tenantId, month }))))
  return rows.map((row) => ({ ...row, state: 'unbilled' as const }))
}

type Open = Readonly<{ tenantId: string; slug: string; until: Month; reason: string; now: string }>

async function waiveModules(tx: Tx, open: Open, missing: readonly ModuleUsageRow[]): Promise<UsageRow[]> {
  // A month that is priced stays as it is.
  await insertRows(tx, missing)
  await assertNoneInBilling(tx, open)
  const { tenantId, until, reason, now } = open
  const rows = await tx
    .updateTable('billing_usage')
    .set({ state: 'waived', reason, updated_at: now })
    .where('tenant_id', '=', tenantId)
    .where('month', '<=', until)
    .where('state', '=', 'unbilled')
    .returningAll()
    .execute()
  return rows.map(moduleView)
}

async function waiveReports(tx: Tx, { tenantId, until, reason, now }: Open): Promise<UsageRow[]> {
  const rows = await tx
    .updateTable('billing_reports')
    .set({ sent_at: now, reason })
    .where('tenant_id', '=', tenantId)
    .where('month', '<=', until)
    .where('sent_at', 'is', null)
    .where('reason', 'is not', null)
    .returningAll()
    .execute()
  return rows.map(reportView)
}

/** A call without answer may have put them on an invoice. */
async function assertNoneInBilling(tx: Tx, { tenantId, slug, until }: Open): Promise<void> {
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
