import type { Selectable } from 'kysely'
import type { Month } from '../../../core/billing/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import type { ModuleUsageTable } from './billing.tables.ts'

export type ModuleUsageRow = Selectable<ModuleUsageTable>

/** A module that was active in a month, and the version that is installed now. */
export type ActiveModule = Readonly<{ tenantId: string; moduleId: string; version: string }>

type Page = Readonly<{ month: Month; after: Readonly<{ tenantId: string; moduleId: string }>; limit: number }>

/** Modules that were active in a month and that have no row yet. Those of a tenant that is deleted are billed by its deletion alone. */
export async function uncountedModules(db: DbOrTx, { month, after, limit }: Page): Promise<ActiveModule[]> {
  const rows = await db
    .selectFrom('usage_events as e')
    .innerJoin('module_installations as i', (join) =>
      join.onRef('i.tenant_id', '=', 'e.tenant_id').onRef('i.module_id', '=', 'e.module_id'),
    )
    .innerJoin('tenants as t', 't.id', 'e.tenant_id')
    .select(['e.tenant_id', 'e.module_id', 'i.version'])
    .where('t.status', '<>', 'deleting')
    .where('e.billing_period', '=', month)
    .where('e.event_type', '=', 'active')
    .where(({ eb, refTuple, tuple }) => eb(refTuple('e.tenant_id', 'e.module_id'), '>', tuple(after.tenantId, after.moduleId)))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('billing_usage as u')
            .select('u.id')
            .whereRef('u.tenant_id', '=', 'e.tenant_id')
            .whereRef('u.module_id', '=', 'e.module_id')
            .where('u.month', '=', month),
        ),
      ),
    )
    .orderBy('e.tenant_id')
    .orderBy('e.module_id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ tenantId: row.tenant_id, moduleId: row.module_id, version: row.version }))
}

/** Modules of one tenant that are active in a month. */
export async function modulesActiveIn(
  db: DbOrTx,
  { tenantId, month }: Readonly<{ tenantId: string; month: Month }>,
): Promise<ActiveModule[]> {
  const rows = await db
    .selectFrom('usage_events as e')
    .innerJoin('module_installations as i', (join) =>
      join.onRef('i.tenant_id', '=', 'e.tenant_id').onRef('i.module_id', '=', 'e.module_id'),
    )
    .select(['e.tenant_id', 'e.module_id', 'i.version'])
    .where('e.tenant_id', '=', tenantId)
    .where('e.billing_period', '=', month)
    .where('e.event_type', '=', 'active')
    .orderBy('e.module_id')
    .execute()
  return rows.map((row) => ({ tenantId: row.tenant_id, moduleId: row.module_id, version: row.version }))
}

/** A module has one row for a tenant and month; one that is there stays. */
export async function insertRows(db: DbOrTx, rows: readonly ModuleUsageRow[]): Promise<void> {
  if (rows.length === 0) return
  await db
    .insertInto('billing_usage')
    .values([...rows])
    .onConflict((c) => c.columns(['tenant_id', 'module_id', 'month']).doNothing())
    .execute()
}

type State = ModuleUsageRow['state']

/** A page of rows in a state, by id. */
export const usageIn = (
  db: DbOrTx,
  states: readonly State[],
  page: Readonly<{ after: string; limit: number }>,
): Promise<ModuleUsageRow[]> =>
  db
    .selectFrom('billing_usage')
    .selectAll()
    .where('state', 'in', [...states])
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute()

export const usageOfTenant = (db: DbOrTx, { tenantId, month }: Readonly<{ tenantId: string; month: Month }>): Promise<ModuleUsageRow[]> =>
  db.selectFrom('billing_usage').selectAll().where('tenant_id', '=', tenantId).where('month', '=', month).orderBy('module_id').execute()

type Invoices = Readonly<{ since: Month; after: string; limit: number }>

/** A page of invoices that may still change what a developer is paid: not paid, not in a statement that is finished, or of the last months. */
export async function invoicesToRead(db: DbOrTx, { since, after, limit }: Invoices): Promise<string[]> {
  const rows = await db
    .selectFrom('billing_usage as u')
    .leftJoin('billing_payouts as p', 'p.id', 'u.payout_id')
    .select('u.invoice_id')
    .distinct()
    .where(({ eb, or, and }) =>
      or([
        and([eb('u.state', 'in', ['billed', 'paid']), or([eb('u.payout_id', 'is', null), eb('p.state', '=', 'waiting')])]),
        // One that was marked uncollectible may still be paid.
        and([eb('u.state', 'in', ['billed', 'paid', 'void']), eb('u.month', '>=', since)]),
      ]),
    )
    .where('u.invoice_id', '>', after)
    .orderBy('u.invoice_id')
    .limit(limit)
    .execute()
  return rows.map(({ invoice_id }) => invoice_id as string)
}
