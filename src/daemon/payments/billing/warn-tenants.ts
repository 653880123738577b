import { z } from 'zod'
import { Month, monthEnd, monthOf, type Preview, periodEndMail } from '../../../core/billing/index.ts'
import { isoNow, plural } from '../../../core/kit/index.ts'
import { enqueueJob, type JobHandler } from '../../db/index.ts'
import { type TenantRecord, tenantById, tenantsAfter } from '../../tenants/index.ts'
import { oldestBilled } from './bill-modules.ts'
import type { BillingDeps } from './deps.ts'
import { previewOf } from './preview.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'mailer' | 'currency' | 'pricedModule' | 'activeUsers' | 'automaticTax'>

export const warningTopic = 'billing.period-end-mail'
/** Tenants of one job: one that is interrupted repeats no more than these. */
const pageSize = 200
/** A run that was missed and comes in the next month has nothing to announce. */
const firstDay = 24

/**
 * Mails the charges of this month to a page of tenants with a billing address; once for each tenant and month. Returns where the next page begins;
 * null: nothing follows.
 */
export async function warnTenants(deps: Deps, after: string | undefined, signal: AbortSignal) {
  const { db, clock } = deps
  const now = isoNow(clock)
  if (Number(now.slice(8, 10)) < firstDay) return { summary: 'nothing to announce: the month has begun', next: null }
  await deps.activeUsers.flush()
  const month = monthOf(now)
  let mails = 0
  const tenants = await tenantsAfter(db, { after, limit: pageSize })
  for (const tenant of tenants) {
    signal.throwIfAborted()
    if (tenant.billingEmail === null || tenant.status === 'deleting') continue
    const { totalCents, unbilled } = await announcedOf(deps, tenant, month)
    if ((totalCents > 0 || unbilled.length > 0) && (await enqueueOnce(deps, { tenantId: tenant.id, month }))) mails++
  }
  return { summary: `${plural(mails, 'mail')} queued`, next: tenants.length === pageSize ? (tenants.at(-1)?.slug ?? null) : null }
}

/** The next run is in the next month, and bills no month that is too old by then. */
async function announcedOf(deps: Deps, tenant: Pick<TenantRecord, 'id' | 'slug'>, month: Month): Promise<Preview> {
  const preview = await previewOf(deps, tenant, month)
  const oldest = oldestBilled(monthEnd(month))
  return { ...preview, unbilled: preview.unbilled.filter((one) => one.month >= oldest) }
}

type Warned = Readonly<{ tenantId: string; month: string }>

const enqueueOnce = ({ db, clock }: Deps, { tenantId, month }: Warned): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    const { numInsertedOrUpdatedRows = 0n } = await tx
      .insertInto('billing_warnings')
      .values({ tenant_id: tenantId, month, created_at: isoNow(clock) })
      .onConflict((c) => c.doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 0n) return false
    await enqueueJob(tx, clock, { topic: warningTopic, payload: { tenantId, month }, pool: 'mail' })
    return true
  })

const Payload = z.object({ tenantId: z.string(), month: Month })

/** The address is read now: the queue holds none. */
export const mailWarning =
  (deps: Deps): JobHandler =>
  async (payload, { signal }) => {
    const { tenantId, month } = Payload.parse(payload)
    const tenant = await tenantById(deps.db, tenantId)
    if (!tenant?.billingEmail) return
    const mail = periodEndMail(await announcedOf(deps, tenant, month), { tenantName: tenant.name, isTaxed: deps.automaticTax })
    const id = `billing_${tenantId}_${month.replace('-', '_')}`
    await deps.mailer.send({ id, to: tenant.billingEmail, ...mail }, signal)
  }
