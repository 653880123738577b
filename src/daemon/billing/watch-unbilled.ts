import { sql } from 'kysely'
import { alertOf } from '../../core/alerts/index.ts'
import { type Money, sumsOf } from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock'>

/** Raises one alert for all that is not billed, or closes it. */
export const watchUnbilled = ({ db, clock }: Deps): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const found = await unbilledOf(tx)
    if (found.count > 0) await raiseAlert(tx, clock, alertOf.usage_unbilled(found))
    else await closeUnbilled(tx, clock, 'everything is billed')
  })

/** Closes the alert once an operator has waived the rest. */
export async function closeIfBilled(tx: Tx, clock: Deps['clock']): Promise<void> {
  if ((await unbilledOf(tx)).count === 0) await closeUnbilled(tx, clock, 'the rest was waived')
}

const closeUnbilled = (tx: Tx, clock: Deps['clock'], because: string): Promise<void> =>
  closeAlerts(tx, clock, { subject: 'billing', keys: ['usage_unbilled'], because })

/** For a tenant that is deleted: no job bills its months any more. */
export const alertLost = ({ db, clock }: Deps, { id, slug }: Readonly<{ id: string; slug: string }>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const found = await unbilledOf(tx, id)
    if (found.count > 0) await raiseAlert(tx, clock, alertOf.usage_unbilled({ ...found, deletedTenant: slug }))
  })

/** Without a tenant all but those that are deleted: their deletion bills them. One sum for each currency. */
async function unbilledOf(db: DbOrTx, tenantId?: string): Promise<Readonly<{ count: number; sums: Money[] }>> {
  const deleted = db.selectFrom('tenants').select('id').where('status', '=', 'deleting')
  const modules = db
    .selectFrom('billing_usage')
    .select(({ fn }) => ['currency', fn.countAll().as('count'), fn.sum('price_cents').as('cents')])
    .where('state', 'in', ['planned', 'unbilled'])
    .where(({ eb }) => (tenantId === undefined ? eb('tenant_id', 'not in', deleted) : eb('tenant_id', '=', tenantId)))
    .groupBy('currency')
  const users = db
    .selectFrom('billing_reports')
    .select(({ fn }) => ['currency', fn.countAll().as('count'), fn.sum(sql<number>`quantity * unit_cents - claimed_cents`).as('cents')])
    .where('sent_at', 'is', null)
    .where('reason', 'is not', null)
    .where(({ eb }) => (tenantId === undefined ? eb('tenant_id', 'not in', deleted) : eb('tenant_id', '=', tenantId)))
    .groupBy('currency')
  const rows = [...(await modules.execute()), ...(await users.execute())]
  return {
    count: rows.reduce((sum, { count }) => sum + Number(count), 0),
    sums: sumsOf(rows.map(({ currency, cents }) => ({ cents: Number(cents), currency }))),
  }
}
