import { sql } from 'kysely'
import { alertKey, type NewAlert } from '../../../core/alerts/index.ts'
import { plural } from '../../../core/kit/index.ts'
import { type Money, moneyText, sumsOf } from '../../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock'>

/** Raises one alert for all that is not billed, or closes it. */
export const watchUnbilled = ({ db, clock }: Deps): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const found = await unbilledOf(tx)
    if (found.count > 0) await raiseAlert(tx, clock, unbilledAlert(found))
    else await closeUnbilled(tx, clock, 'everything is billed')
  })

/** Closes the alert once an operator has waived the rest. */
export async function closeIfBilled(tx: Tx, clock: Deps['clock']): Promise<void> {
  if ((await unbilledOf(tx)).count === 0) await closeUnbilled(tx, clock, 'the rest was waived')
}

const closeUnbilled = (tx: Tx, clock: Deps['clock'], because: string): Promise<void> =>
  closeAlerts(tx, clock, { keys: [alertKey('billing_incomplete', 'unbilled')], because })

/** For a tenant that is deleted: no job bills its months any more. */
export const alertLost = ({ db, clock }: Deps, { id, slug }: Readonly<{ id: string; slug: string }>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const found = await unbilledOf(tx, id)
    if (found.count > 0) await raiseAlert(tx, clock, lostAlert(slug, found))
  })

type Unbilled = Readonly<{ count: number; sums: readonly Money[] }>

const sumsText = (sums: readonly Money[]): string => sums.map(moneyText).join(' and ')

const unbilledAlert = ({ count, sums }: Unbilled): NewAlert => ({
  kind: 'billing_incomplete',
  key: alertKey('billing_incomplete', 'unbilled'),
  subject: 'billing',
  title: `${plural(count, 'amount is', 'amounts are')} not billed (${sumsText(sums)})`,
  body:
    'Tenants use paid modules or items and are not billed: a payment customer is missing, a price has another currency, the payment provider ' +
    'refused or did not answer, or there is none. The list names the reason of each.\n' +
    'Modules: remove the reason, then run tenantry crons run billing-usage-aggregation: it charges those of the last 12 months at once.\n' +
    'Older modules: no job charges them. Invoice by hand what is due, then waive them with --kind module.\n' +
    'Users whose payment customer does not exist: no job charges them while it is missing, and each run tries them again. Invoice them by hand ' +
    'and waive them before the next run: tenantry billing waive <tenant> --until <month> --kind users --reason <why>.',
  command: 'tenantry billing usage --state unbilled',
  standing: true,
})

const lostAlert = (slug: string, { count, sums }: Unbilled): NewAlert => ({
  kind: 'billing_incomplete',
  key: alertKey('billing_incomplete', `unbilled:${slug}`),
  subject: 'billing',
  title: `${slug} is deleted with ${plural(count, 'unbilled amount')} (${sumsText(sums)})`,
  body:
    'The tenant used paid modules or items and could not be billed. Its deletion deletes these months, and no job bills them any more.\n' +
    'Invoice them by hand if they are due.',
  command: `tenantry audit list --subject ${slug}`,
})

/** Without a tenant all but those that are deleted: their deletion bills them. One sum for each currency. */
async function unbilledOf(db: DbOrTx, tenantId?: string): Promise<Unbilled> {
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
