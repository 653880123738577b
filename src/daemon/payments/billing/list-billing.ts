import { sql } from 'kysely'
import type { Month, Payout, UsageRow, UsageState } from '../../../core/billing/index.ts'
import { pageEnd, pageOf, readPageEnd } from '../../../core/contract/index.ts'
import { type DbOrTx, newestFirst } from '../../db/index.ts'
import { existingTenant } from '../../tenants/index.ts'
import type { BillingDeps } from './deps.ts'
import type { PayoutRow } from './make-statement.ts'
import type { ModuleUsageRow } from './module-usage.repo.ts'
import type { ReportRow } from './plan-reports.ts'

type Deps = Pick<BillingDeps, 'db'>
type Query = Readonly<{ month?: Month | undefined; cursor?: string | undefined; limit: number }>
type UsageQuery = Query & Readonly<{ tenant?: string | undefined; state?: UsageState | undefined }>

/** Usage of items and modules, newest first. Throws NOT_FOUND for an unknown tenant, VALIDATION for an invalid cursor. */
export async function listUsage({ db }: Deps, { month, tenant, state, cursor, limit }: UsageQuery) {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const tenantId = tenant === undefined ? undefined : (await existingTenant(db, tenant)).id
  let reports = newestFirst(db.selectFrom('billing_reports').selectAll(), { after, limit: limit + 1 })
  let modules = newestFirst(db.selectFrom('billing_usage').selectAll(), { after, limit: limit + 1 })
  if (month !== undefined) [reports, modules] = [reports.where('month', '=', month), modules.where('month', '=', month)]
  if (tenantId !== undefined) [reports, modules] = [reports.where('tenant_id', '=', tenantId), modules.where('tenant_id', '=', tenantId)]
  const ofItems = state === undefined ? reports : state in reportIs ? reports.where(reportIs[state as keyof typeof reportIs]) : undefined
  if (state !== undefined) modules = modules.where('state', '=', state as ModuleUsageRow['state'])
  const [itemRows, moduleRows] = [(await ofItems?.execute()) ?? [], await modules.execute()]
  const slugs = await slugsOf(db, [...new Set([...itemRows, ...moduleRows].map(({ tenant_id }) => tenant_id))])
  const rows = [...itemRows.map(reportView), ...moduleRows.map(moduleView)]
    .map(({ tenant: id, ...row }): UsageRow => ({ ...row, tenant: slugs.get(id) ?? id }))
    .sort((left, right) => (pageKey(left) < pageKey(right) ? 1 : -1))
  const { page, nextCursor } = pageOf(rows, limit, pageEnd)
  return { usage: page, nextCursor, open: await countOpen(db) }
}

/** A report has no state of its own, and is in none of the others. */
const reportIs = {
  planned: sql<boolean>`sent_at is null and reason is null`,
  unbilled: sql<boolean>`sent_at is null and reason is not null`,
  waived: sql<boolean>`sent_at is not null and reason is not null`,
  reported: sql<boolean>`sent_at is not null and reason is null and invoice_item_id is null`,
  billed: sql<boolean>`sent_at is not null and reason is null and invoice_item_id is not null`,
} as const

function stateOf({ sent_at, reason, invoice_item_id }: ReportRow): keyof typeof reportIs {
  if (sent_at === null) return reason === null ? 'planned' : 'unbilled'
  if (reason !== null) return 'waived'
  return invoice_item_id === null ? 'reported' : 'billed'
}

/** Counts every page: an old amount that is not billed is on none of the first ones. */
async function countOpen(db: DbOrTx) {
  const rows = await db
    .selectFrom('billing_usage')
    .select(({ fn }) => ['state', fn.countAll().as('count')])
    .where('state', 'in', ['planned', 'unbilled'])
    .groupBy('state')
    .execute()
  const unsent = await db
    .selectFrom('billing_reports')
    .select(({ fn }) => [fn.countAll().as('all'), fn.count('reason').as('unbilled')])
    .where('sent_at', 'is', null)
    .executeTakeFirstOrThrow()
  const of = (state: UsageState) => Number(rows.find((row) => row.state === state)?.count ?? 0)
  const unbilled = Number(unsent.unbilled)
  return { unbilled: of('unbilled') + unbilled, planned: of('planned') + Number(unsent.all) - unbilled }
}

const pageKey = ({ createdAt, id }: UsageRow): string => `${createdAt} ${id}`

async function slugsOf(db: DbOrTx, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('tenants')
    .select(['id', 'slug'])
    .where('id', 'in', [...ids])
    .execute()
  return new Map(rows.map(({ id, slug }) => [id, slug]))
}

export const reportView = (row: ReportRow): UsageRow => ({
  ...{ id: row.id, tenant: row.tenant_id, month: row.month, kind: 'users', subject: row.item_id, quantity: row.quantity },
  ...{ unitCents: row.unit_cents, cents: row.quantity * row.unit_cents, currency: row.currency },
  ...{ state: stateOf(row), reason: row.reason },
  ...{ invoiceId: row.invoice_id, invoiceItemId: row.invoice_item_id, createdAt: row.created_at },
})

export const moduleView = (row: ModuleUsageRow): UsageRow => ({
  ...{ id: row.id, tenant: row.tenant_id, month: row.month, kind: 'module', subject: row.module_id, quantity: 1 },
  ...{ unitCents: row.price_cents, cents: row.price_cents, currency: row.currency, state: row.state, reason: row.reason },
  ...{ invoiceId: row.invoice_id, invoiceItemId: row.invoice_item_id, createdAt: row.created_at },
})

/** Statements of developers, newest first. Throws VALIDATION for an invalid cursor. */
export async function listPayouts({ db }: Deps, { month, cursor, limit }: Query) {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  let query = newestFirst(db.selectFrom('billing_payouts').selectAll(), { after, limit: limit + 1 })
  if (month !== undefined) query = query.where('month', '=', month)
  const { page, nextCursor } = pageOf((await query.execute()).map(payoutView), limit, pageEnd)
  return { payouts: page, nextCursor }
}

const payoutView = (row: PayoutRow): Payout => ({
  ...{ id: row.id, developerId: row.developer_id, vendorId: row.vendor_id, month: row.month, grossCents: row.gross_cents },
  ...{
    feeCents: row.fee_cents,
    netCents: row.net_cents,
    heldCents: row.held_cents,
    deductedCents: row.deducted_cents,
    currency: row.currency,
    state: row.state,
  },
  ...{ reason: row.reason, transferId: row.transfer_id, createdAt: row.created_at },
})
