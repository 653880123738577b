import { type Month, monthBefore, monthOf, monthsBetween } from '../../../core/billing/index.ts'
import { isoNow, newId, plural, problem } from '../../../core/kit/index.ts'
import { recordMonthlyUsage } from '../../modules/index.ts'
import { tenantById } from '../../tenants/index.ts'
import { type Billed, billTenant, monthsBack, oldestBilled, setUnbilled } from './bill-modules.ts'
import type { BillingDeps } from './deps.ts'
import { type ActiveModule, insertRows, type ModuleUsageRow, uncountedModules, usageIn } from './module-usage.repo.ts'
import { watchUnbilled } from './watch-unbilled.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider' | 'log' | 'currency' | 'pricedModule'>

const tooOld = `older than ${monthsBack} months. fix: invoice it by hand if it is due, then waive it`
const batch = 500

/** Gives each paid module of a tenant and month one row with its price. */
export async function priceModules(deps: Deps, signal: AbortSignal): Promise<string> {
  const recorded = await recordMonthlyUsage(deps, signal)
  const last = monthBefore(monthOf(isoNow(deps.clock)))
  let added = 0
  for (const month of monthsBetween(monthBefore(last, monthsBack - 1), last)) added += await addRows(deps, month, signal)
  return `${recorded}; ${plural(added, 'module month')} priced`
}

/**
 * Bills what is priced by one item on an invoice of its tenant and month. Rows without customer or provider are unbilled and tried again by the next
 * run, until they are too old for a tenant to expect the charge. Throws PAYMENTS_UNAVAILABLE while the provider does not answer.
 */
export async function billModules(deps: Deps, signal: AbortSignal): Promise<string> {
  const { billed, unbilled, isAway } = await billRows(deps, signal)
  // An interrupted run has not read everything that is unbilled.
  signal.throwIfAborted()
  await watchUnbilled(deps)
  if (isAway)
    throw problem(
      'PAYMENTS_UNAVAILABLE',
      `${plural(unbilled.length, 'module month')} not billed. fix: wait; the job is retried until the provider answers and accepts the key`,
    )
  return `${billed} billed, ${unbilled.length} unbilled`
}

async function addRows(deps: Deps, month: Month, signal: AbortSignal): Promise<number> {
  const { db } = deps
  let added = 0
  for (let after = { tenantId: '', moduleId: '' }, last = batch; last === batch && !signal.aborted; ) {
    const found = await uncountedModules(db, { month, after, limit: batch })
    const rows = await pricedRows(deps, month, found)
    await insertRows(db, rows)
    added += rows.length
    last = found.length
    after = found.at(-1) ?? after
  }
  return added
}

/** Rows of modules with a price, as it is now. */
export async function pricedRows(
  deps: Pick<Deps, 'db' | 'clock' | 'random' | 'pricedModule'>,
  month: Month,
  modules: readonly ActiveModule[],
) {
  const { db, clock, random } = deps
  const now = isoNow(clock)
  const rows: ModuleUsageRow[] = []
  for (const module of modules) {
    const priced = await deps.pricedModule(db, module)
    if (!priced?.price || priced.price.cents === 0) continue
    rows.push({
      ...{ id: newId(random, 'mus'), tenant_id: module.tenantId, module_id: module.moduleId, month, developer_id: priced.developerId },
      ...{ price_cents: priced.price.cents, currency: priced.price.currency, state: 'planned' as const, reason: null, customer_id: null },
      ...{
        invoice_id: null,
        invoice_item_id: null,
        refunded_cents: 0,
        counted_cents: 0,
        payout_id: null,
        created_at: now,
        updated_at: now,
      },
    })
  }
  return rows
}

async function billRows(deps: Deps, signal: AbortSignal): Promise<Billed> {
  let billed = 0
  let isAway = false
  const unbilled: ModuleUsageRow[] = []
  const done = new Set<string>()
  const oldest = oldestBilled(isoNow(deps.clock))
  for (let after = '', last = batch; last === batch && !signal.aborted; ) {
    const rows = await usageIn(deps.db, ['planned', 'unbilled'], { after, limit: batch })
    for (const row of rows) {
      const { tenant_id: tenantId, month, state } = row
      if (signal.aborted) continue
      // One that is planned may be on an invoice already: it is billed at any age.
      if (state === 'unbilled' && month < oldest) {
        await setUnbilled(deps, row, tooOld)
        unbilled.push(row)
        continue
      }
      if (done.has(`${tenantId} ${month}`)) continue
      done.add(`${tenantId} ${month}`)
      // Its deletion bills it, and detaches what is billed.
      if ((await tenantById(deps.db, tenantId))?.status === 'deleting') continue
      const of = await billTenant(deps, { tenantId, month })
      billed += of.billed
      unbilled.push(...of.unbilled)
      isAway ||= of.isAway
    }
    last = rows.length
    after = rows.at(-1)?.id ?? after
  }
  return { billed, unbilled, isAway }
}
