import { type Month, plannedQuantity } from '../../../core/billing/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { keyOf, newestSpans, usersAloneOf, usersOf, usersOfItems } from './spans.repo.ts'

/** `day`: what was reported on it is replaced. Without a day nothing is. */
type Asked = Readonly<{ month: Month; ids: readonly string[]; day?: string }>

/**
 * Users of a month that each subscription has still to report. A user counts once for a tenant and item, whichever of its subscriptions reports it:
 * the days between the first and the last call of a user grow until the month ends, so that a later subscription may find a user within the time of an
 * earlier one, which did not count it when it ended. The oldest one counts first.
 */
export async function usersToReport(db: DbOrTx, { month, ids, day }: Asked): Promise<Map<string, number>> {
  const spans = [...(await newestSpans(db, ids)).values()].sort((left, right) => (left.from_at < right.from_at ? -1 : 1))
  const tenantIds = [...new Set(spans.map(({ tenant_id }) => tenant_id))]
  const users = await usersOf(db, { month, ids })
  const alone = await usersAloneOf(db, { month, ids })
  const usersOfItem = await usersOfItems(db, { month, tenantIds })
  const reported = await reportedIn(db, { month, tenantIds })
  const counted = new Map<string, number>()
  for (const span of spans) {
    const id = span.payment_subscription_id
    const rows = (reported.get(keyOf(span)) ?? []).filter((row) => row.id !== id || row.day !== day)
    const quantity = plannedQuantity({
      own: { users: users.get(id) ?? 0, alone: alone.get(id) ?? 0, reported: sum(rows.filter((row) => row.id === id)) },
      item: { users: usersOfItem.get(keyOf(span)) ?? 0, reported: sum(rows) },
    })
    reported.set(keyOf(span), [...rows, { id, day, quantity }])
    counted.set(id, quantity)
  }
  return counted
}

type Reported = Readonly<{ id: string; day: string | undefined; quantity: number }>

const sum = (rows: readonly Reported[]): number => rows.reduce((total, { quantity }) => total + quantity, 0)

async function reportedIn(db: DbOrTx, { month, tenantIds }: Readonly<{ month: Month; tenantIds: readonly string[] }>) {
  const found = new Map<string, Reported[]>()
  if (tenantIds.length === 0) return found
  const rows = await db
    .selectFrom('billing_reports')
    .select(['payment_subscription_id as id', 'tenant_id', 'item_id', 'day', 'quantity'])
    .where('tenant_id', 'in', [...tenantIds])
    .where('month', '=', month)
    .execute()
  for (const row of rows) found.set(keyOf(row), [...(found.get(keyOf(row)) ?? []), row])
  return found
}
