import { isoNow, plural } from '../../core/kit/index.ts'
import { usageEvent } from '../../core/modules/index.ts'
import type { JobHandler } from '../db/index.ts'
import type { ModulesDeps } from './deps.ts'

/** Queued when a module is activated or deactivated. */
export const billingTopic = 'modules.billing'

/** Without a payment provider there is nothing to do; a transition never waits for it. */
export const billModule: JobHandler = async () => undefined

const batch = 500

/** Records the usage of the month for every active module; repeated calls add nothing. Returns a summary. */
export async function recordMonthlyUsage({ db, clock }: Pick<ModulesDeps, 'db' | 'clock'>, signal?: AbortSignal): Promise<string> {
  let recorded = 0
  let after = { tenant_id: '', module_id: '' }
  for (let last = batch; last === batch && !signal?.aborted; ) {
    const rows = await db
      .selectFrom('module_installations')
      .select(['tenant_id', 'module_id'])
      .where('status', '=', 'active')
      .where(({ eb, refTuple, tuple }) => eb(refTuple('tenant_id', 'module_id'), '>', tuple(after.tenant_id, after.module_id)))
      .orderBy('tenant_id')
      .orderBy('module_id')
      .limit(batch)
      .execute()
    last = rows.length
    after = rows.at(-1) ?? after
    if (last === 0) break
    const now = isoNow(clock)
    const values = rows.map((row) => {
      const { billingPeriod, eventType, quantity, createdAt } = usageEvent(row.tenant_id, row.module_id, now)
      return { ...row, billing_period: billingPeriod, event_type: eventType, quantity, created_at: createdAt }
    })
    const { numInsertedOrUpdatedRows = 0n } = await db
      .insertInto('usage_events')
      .values(values)
      .onConflict((c) => c.doNothing())
      .executeTakeFirst()
    recorded += Number(numInsertedOrUpdatedRows)
  }
  return `${plural(recorded, 'usage event')} recorded`
}
