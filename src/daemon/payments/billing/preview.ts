import { type Charge, type Month, monthOf, type Preview, totalOf } from '../../../core/billing/index.ts'
import { pageOf } from '../../../core/contract/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { findItem } from '../../marketplace/index.ts'
import { existingTenant, type TenantRecord, tenantsAfter } from '../../tenants/index.ts'
import { oldestBilled } from './bill-modules.ts'
import { usersToReport } from './count-users.ts'
import type { BillingDeps } from './deps.ts'
import { modulesActiveIn, usageOfTenant } from './module-usage.repo.ts'
import { isWaived } from './plan-reports.ts'
import { isInstalledIn, type SpanRow } from './spans.repo.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'currency' | 'pricedModule' | 'activeUsers'>
type Query = Readonly<{ month?: Month | undefined; tenant?: string | undefined; cursor?: string | undefined; limit: number }>

/** A page of previews by slug. Throws NOT_FOUND for an unknown tenant. */
export async function previewBilling(deps: Deps, { month = monthOf(isoNow(deps.clock)), tenant, cursor, limit }: Query) {
  await deps.activeUsers.flush()
  const found =
    tenant === undefined ? await tenantsAfter(deps.db, { after: cursor, limit: limit + 1 }) : [await existingTenant(deps.db, tenant)]
  const { page, nextCursor } = pageOf(found, limit, ({ slug }) => slug)
  const previews: Preview[] = []
  for (const one of page) previews.push(await previewOf(deps, one, month))
  return { month, previews, nextCursor }
}

/** The charges of a tenant for a month: as counted for a finished one, as of now for the present one. */
export async function previewOf(deps: Deps, { id, slug }: Pick<TenantRecord, 'id' | 'slug'>, month: Month): Promise<Preview> {
  const charges = [...(await itemCharges(deps, id, month)), ...(await moduleCharges(deps, id, month))]
  const unbilled = await unbilledBefore(deps, id, month)
  return { month, tenant: slug, charges, totalCents: totalOf(charges, deps.currency), currency: deps.currency, unbilled }
}

/** Earlier months of modules that the next run charges once it can. */
async function unbilledBefore({ db, clock, currency }: Deps, tenantId: string, month: Month): Promise<Preview['unbilled']> {
  const rows = await db
    .selectFrom('billing_usage')
    .select(({ fn }) => ['month', fn.sum('price_cents').as('cents')])
    .where('tenant_id', '=', tenantId)
    .where('state', 'in', ['planned', 'unbilled'])
    .where('month', '<', month)
    .where('month', '>=', oldestBilled(isoNow(clock)))
    .where('currency', '=', currency)
    .groupBy('month')
    .orderBy('month')
    .execute()
  return rows.map((row) => ({ month: row.month, cents: Number(row.cents), currency }))
}

async function itemCharges({ db }: Deps, tenantId: string, month: Month): Promise<Charge[]> {
  const spans = (await db.selectFrom('billing_spans').selectAll().where('tenant_id', '=', tenantId).orderBy('from_at').execute()).filter(
    (span) => isInstalledIn(span, month),
  )
  const bySubscription = new Map(spans.map((span) => [span.payment_subscription_id, span]))
  const metered = [...bySubscription].flatMap(([id, { price_model }]) => (price_model === 'per-active-user' ? [id] : []))
  const users = await usersIn(db, { month, ids: metered })
  const charges: Charge[] = []
  for (const [id, span] of bySubscription) {
    const isMetered = span.price_model === 'per-active-user'
    const item = await findItem(db, span.item_id)
    // A subscription of a withdrawn item ends with its period, so that none begins after that.
    const ended = { ...span, to_at: span.to_at ?? item?.withdrawnAt ?? null }
    const quantity = isMetered ? (users.get(id) ?? 0) : await monthsCharged(db, ended, month)
    if (quantity === 0) continue
    const name = item?.name ?? span.item_id
    const cents = quantity * span.unit_cents
    charges.push({
      ...{ kind: isMetered ? 'users' : 'item', subject: span.item_id, name, quantity, unitCents: span.unit_cents, cents },
      currency: span.currency,
    })
  }
  return charges
}

/** Users by subscription: those that were reported, and as of now those that are not. */
async function usersIn(db: DbOrTx, { month, ids }: Readonly<{ month: Month; ids: readonly string[] }>): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const reports = await db
    .selectFrom('billing_reports')
    .selectAll()
    .where('payment_subscription_id', 'in', [...ids])
    .where('month', '=', month)
    .execute()
  const isClosed = (one: string) => reports.some((row) => row.payment_subscription_id === one && row.closes_month === 1)
  const users = await usersToReport(db, { month, ids: ids.filter((id) => !isClosed(id)) })
  for (const row of reports) {
    const id = row.payment_subscription_id
    users.set(id, (users.get(id) ?? 0) + (isWaived(row) ? 0 : row.quantity))
  }
  return users
}

/** A price per month is charged at the begin of each period: not for a subscription that was cancelled before it. */
async function monthsCharged(db: DbOrTx, { payment_subscription_id: id, to_at }: SpanRow, month: Month): Promise<number> {
  const first = await db
    .selectFrom('billing_spans')
    .select('from_at')
    .where('payment_subscription_id', '=', id)
    .orderBy('from_at')
    .limit(1)
    .executeTakeFirstOrThrow()
  if (monthOf(first.from_at) === month || to_at === null) return 1
  const day = Math.min(
    Number(first.from_at.slice(8, 10)),
    new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5, 7)), 0)).getUTCDate(),
  )
  return to_at >= `${month}-${String(day).padStart(2, '0')}${first.from_at.slice(10)}` ? 1 : 0
}

async function moduleCharges(deps: Deps, tenantId: string, month: Month): Promise<Charge[]> {
  const { db, pricedModule } = deps
  const rows = await usageOfTenant(db, { tenantId, month })
  const charges: Charge[] = rows
    .filter(({ state }) => state !== 'waived')
    .map((row) => chargeOf(row.module_id, row.module_id, { cents: row.price_cents, currency: row.currency }))
  for (const module of await modulesActiveIn(db, { tenantId, month })) {
    if (rows.some(({ module_id }) => module_id === module.moduleId)) continue
    const priced = await pricedModule(db, module)
    if (priced?.price && priced.price.cents > 0) charges.push(chargeOf(module.moduleId, priced.name, priced.price))
  }
  return charges
}

const chargeOf = (subject: string, name: string, { cents, currency }: Readonly<{ cents: number; currency: string }>): Charge => ({
  ...{ kind: 'module', subject, name, quantity: 1, unitCents: cents, cents, currency },
})
