import { isoNow, plural } from '../../core/kit/index.ts'
import { usageEvent } from '../../core/modules/index.ts'
import type { Db, JobHandler } from '../db/index.ts'
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

const monthAfter = (month: string): string =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1)).toISOString().slice(0, 7)

type Row = Awaited<ReturnType<typeof activeModules>>[number]

/**
 * Records the usage of the month for every active module, and of the months before in which no daemon did; repeated calls add nothing. A module that
 * cannot run, because its version is withdrawn or its tenant suspended, is recorded as idle: a month that begins and ends idle has no usage. A tenant
 * that is deleted has none after the month in which its deletion began. Returns a summary.
 */
export async function recordMonthlyUsage({ db, clock }: Pick<ModulesDeps, 'db' | 'clock'>, signal?: AbortSignal): Promise<string> {
  let recorded = 0
  let after = { tenant_id: '', module_id: '' }
  for (let last = batch; last === batch && !signal?.aborted; ) {
    const rows = await activeModules(db, after)
    last = rows.length
    after = rows.at(-1) ?? after
    if (last === 0) break
    const now = isoNow(clock)
    const idle = await idleMonths(db, rows)
    recorded += await insert(
      db,
      now,
      rows.flatMap((row) => (isIdle(row) ? [] : monthsOf(row, now, idle).map((month) => ({ row, month, type: 'active' as const })))),
    )
    await insert(
      db,
      now,
      rows.filter(isIdle).map((row) => ({ row, month: now.slice(0, 7), type: 'idle' as const })),
    )
  }
  return `${plural(recorded, 'usage event')} recorded`
}

const activeModules = (db: Db, after: Readonly<{ tenant_id: string; module_id: string }>) =>
  db
    .selectFrom('module_installations as i')
    .leftJoin('tenants as t', 't.id', 'i.tenant_id')
    .leftJoin('module_withdrawals as w', (join) => join.onRef('w.module_id', '=', 'i.module_id').onRef('w.version', '=', 'i.version'))
    .select(['i.tenant_id', 'i.module_id', 'i.activated_at', 't.status as tenantStatus', 't.updated_at as tenantUpdatedAt'])
    .select('w.withdrawn_at as withdrawnAt')
    .where('i.status', '=', 'active')
    .where(({ eb, refTuple, tuple }) => eb(refTuple('i.tenant_id', 'i.module_id'), '>', tuple(after.tenant_id, after.module_id)))
    .orderBy('i.tenant_id')
    .orderBy('i.module_id')
    .limit(batch)
    .execute()

const isIdle = ({ tenantStatus, withdrawnAt }: Row): boolean => tenantStatus === 'suspended' || withdrawnAt !== null

const keyOf = ({ tenant_id, module_id }: Pick<Row, 'tenant_id' | 'module_id'>, month: string): string =>
  `${tenant_id} ${module_id} ${month}`

async function idleMonths(db: Db, rows: readonly Row[]): Promise<ReadonlySet<string>> {
  const found = await db
    .selectFrom('usage_events')
    .select(['tenant_id', 'module_id', 'billing_period'])
    .where('tenant_id', 'in', [...new Set(rows.map(({ tenant_id }) => tenant_id))])
    .where('event_type', '=', 'idle')
    .execute()
  return new Set(found.map((one) => keyOf(one, one.billing_period)))
}

/** A suspended tenant may be deleted: the month of its deletion ends idle too. */
function monthsOf(row: Row, now: string, idle: ReadonlySet<string>): string[] {
  const isDeleted = row.tenantStatus === 'deleting'
  const to = (isDeleted ? row.tenantUpdatedAt : null) ?? now
  const endsIdle = (month: string) => idle.has(keyOf(row, monthAfter(month))) || (isDeleted && month === to.slice(0, 7))
  return periodsSince(row.activated_at ?? now, to).filter((month) => !(idle.has(keyOf(row, month)) && endsIdle(month)))
}

type Recorded = Readonly<{ row: Row; month: string; type: 'active' | 'idle' }>

async function insert(db: Db, now: string, all: readonly Recorded[]): Promise<number> {
  if (all.length === 0) return 0
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('usage_events')
    .values(
      all.map(({ row: { tenant_id, module_id }, month, type }) => {
        const { quantity, createdAt } = usageEvent(tenant_id, module_id, now)
        return { tenant_id, module_id, billing_period: month, event_type: type, quantity, created_at: createdAt }
      }),
    )
    .onConflict((c) => c.doNothing())
    .executeTakeFirst()
  return Number(numInsertedOrUpdatedRows)
}
