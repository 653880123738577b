import { isoNow, plural } from '../../core/kit/index.ts'
import { usageEvent } from '../../core/modules/index.ts'
import type { JobHandler } from '../db/index.ts'
import type { ModulesDeps } from './deps.ts'

/** Queued when a module is activated or deactivated. */
export const billingTopic = 'modules.billing'

/** Without a payment provider there is nothing to do; a transition never waits for it. */
export const billModule: JobHandler = async () => undefined

const batch = 500

/** Months that are recorded later, because no daemon ran in them. */
const monthsBack = 3

/** Months from one time to another: at most the last ones. */
function periodsSince(from: string, to: string): string[] {
  const [year, month] = to.split('-').map(Number) as [number, number]
  const all = Array.from({ length: monthsBack + 1 }, (_, n) => new Date(Date.UTC(year, month - 1 - n, 1)).toISOString().slice(0, 7))
  return all.filter((period) => period >= from.slice(0, 7))
}

/**
 * Records the usage of the month for every active module, and of the months before in which no daemon did; repeated calls add nothing. A tenant that
 * is deleted has none after the month in which its deletion began. Returns a summary.
 */
export async function recordMonthlyUsage({ db, clock }: Pick<ModulesDeps, 'db' | 'clock'>, signal?: AbortSignal): Promise<string> {
  let recorded = 0
  let after = { tenant_id: '', module_id: '' }
  for (let last = batch; last === batch && !signal?.aborted; ) {
    const rows = await db
      .selectFrom('module_installations as i')
      .leftJoin('tenants as t', 't.id', 'i.tenant_id')
      .select(['i.tenant_id', 'i.module_id', 'i.activated_at', 't.status as tenantStatus', 't.updated_at as tenantUpdatedAt'])
      .where('i.status', '=', 'active')
      .where(({ eb, refTuple, tuple }) => eb(refTuple('i.tenant_id', 'i.module_id'), '>', tuple(after.tenant_id, after.module_id)))
      .orderBy('i.tenant_id')
      .orderBy('i.module_id')
      .limit(batch)
      .execute()
    last = rows.length
    after = rows.at(-1) ?? after
    if (last === 0) break
    const now = isoNow(clock)
    const values = rows.flatMap(({ tenant_id, module_id, activated_at, tenantStatus, tenantUpdatedAt }) =>
      periodsSince(activated_at ?? now, (tenantStatus === 'deleting' ? tenantUpdatedAt : null) ?? now).map((billing_period) => {
        const { eventType, quantity, createdAt } = usageEvent(tenant_id, module_id, now)
        return { tenant_id, module_id, billing_period, event_type: eventType, quantity, created_at: createdAt }
      }),
    )
    const { numInsertedOrUpdatedRows = 0n } = await db
      .insertInto('usage_events')
      .values(values)
      .onConflict((c) => c.doNothing())
      .executeTakeFirst()
    recorded += Number(numInsertedOrUpdatedRows)
  }
  return `${plural(recorded, 'usage event')} recorded`
}
