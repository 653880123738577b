import { sql } from 'kysely'
import { type Month, monthOf, monthsBetween } from '../../../core/billing/index.ts'
import { isoNow, problem } from '../../../core/kit/index.ts'
import { recordMonthlyUsage } from '../../modules/index.ts'
import { pricedRows } from './aggregate-usage.ts'
import { billTenant, oldestBilled } from './bill-modules.ts'
import type { BillingDeps } from './deps.ts'
import { insertRows, modulesActiveIn, usageOfTenant } from './module-usage.repo.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider' | 'log' | 'currency' | 'pricedModule'>

/**
 * Bills the paid modules of a tenant that is deleted, up to and with the month in which its deletion began. What is billed stays without its tenant: developers are paid
 * for it. Throws while the provider does not answer; it can be repeated.
 */
export async function endModules(deps: Deps, tenantId: string, signal: AbortSignal): Promise<void> {
  const { db, clock } = deps
  await recordMonthlyUsage(deps, signal)
  const now = isoNow(clock)
  await deleteRepeated(deps, tenantId)
  for (const month of monthsBetween(oldestBilled(now), monthOf(now))) {
    signal.throwIfAborted()
    await insertRows(db, await pricedRows(deps, month, await uncounted(deps, tenantId, month)))
    await billTenant(deps, { tenantId, month })
  }
  for (const { month } of await plannedOf(deps, tenantId)) {
    signal.throwIfAborted()
    await billTenant(deps, { tenantId, month })
  }
  const [waiting] = await plannedOf(deps, tenantId)
  if (waiting) throw problem('PAYMENTS_UNAVAILABLE', `The modules of ${waiting.month} are not billed yet. fix: wait; the job is retried`)
  await db
    .updateTable('billing_usage')
    .set({ tenant_id: formerOf(tenantId) })
    .where('tenant_id', '=', tenantId)
    .where('state', 'in', ['billed', 'paid', 'refunded', 'void'])
    .where(({ not, exists }) => not(exists(detached(db, tenantId))))
    .execute()
}

/** A job that read the modules before the deletion began may plan a month that is already billed and detached. */
const deleteRepeated = ({ db }: Deps, tenantId: string) =>
  db
    .deleteFrom('billing_usage')
    .where('tenant_id', '=', tenantId)
    .where('state', 'in', ['planned', 'unbilled'])
    .where(({ exists }) => exists(detached(db, tenantId)))
    .execute()

/** The detached row of the same module and month. */
const detached = (db: Deps['db'], tenantId: string) =>
  db
    .selectFrom('billing_usage as d')
    .select('d.id')
    .where('d.tenant_id', '=', formerOf(tenantId))
    .where(sql<boolean>`d.module_id = billing_usage.module_id and d.month = billing_usage.month`)

/** A repeated run does not bill again what it already detached. */
async function uncounted({ db }: Deps, tenantId: string, month: Month) {
  const [own, former] = await Promise.all([tenantId, formerOf(tenantId)].map((id) => usageOfTenant(db, { tenantId: id, month })))
  const known = new Set([...(own ?? []), ...(former ?? [])].map(({ module_id }) => module_id))
  return (await modulesActiveIn(db, { tenantId, month })).filter(({ moduleId }) => !known.has(moduleId))
}

const formerOf = (tenantId: string): string => `deleted:${tenantId}`

/** Months that may be on an invoice already, whatever their age: the deletion waits for them. */
const plannedOf = ({ db }: Deps, tenantId: string) =>
  db
    .selectFrom('billing_usage')
    .select('month')
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where('state', '=', 'planned')
    .orderBy('month')
    .execute()
