import { sql } from 'kysely'
import type { DbOrTx } from '../../db/index.ts'

/** Installations whose service is to get an event: active in a version of type B, with consent to the host, behind the stream, and no delay is in force. */
const due = (db: DbOrTx, now: string) =>
  db
    .selectFrom('module_upstreams as service')
    .innerJoin('module_installations as one', 'one.module_id', 'service.module_id')
    .innerJoin('module_positions as position', (join) =>
      join.onRef('position.tenant_id', '=', 'one.tenant_id').onRef('position.module_id', '=', 'one.module_id'),
    )
    .innerJoin('tenants', 'tenants.id', 'one.tenant_id')
    .innerJoin('streams', (join) => join.on('streams.stream', '=', sql<string>`'tenant:' || position.tenant_id`))
    .whereRef('streams.seq', '>', 'position.seq')
    .whereRef('one.upstream_host', '=', 'service.host')
    .where('one.status', '=', 'active')
    .where('one.remote', 'is not', null)
    .where('one.paused', '=', 0)
    .where(({ eb, or }) => or([eb('one.busy_until', 'is', null), eb('one.busy_until', '<=', now)]))
    .where('tenants.status', '=', 'active')
    .where(({ eb, or }) => or([eb('service.rest_until', 'is', null), eb('service.rest_until', '<=', now)]))
    .where(({ eb, or }) => or([eb('position.next_at', 'is', null), eb('position.next_at', '<=', now)]))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('module_withdrawals as gone')
            .select('gone.module_id')
            .whereRef('gone.module_id', '=', 'one.module_id')
            .whereRef('gone.version', '=', 'one.version'),
        ),
      ),
    )

/** Modules with something to deliver. */
export async function dueServices(db: DbOrTx, now: string): Promise<string[]> {
  const rows = await due(db, now).select('service.module_id').distinct().execute()
  return rows.map(({ module_id }) => module_id)
}

type Turn = Readonly<{ moduleId: string; now: string; limit: number; after: string; isProbe: boolean }>

/**
 * Tenants of a module with something to deliver, in rotation behind the tenant `after`, so that none waits until others have nothing left.
 * `isProbe`: the service may be away; tenants without a failed attempt go first, since their event is more likely to be taken.
 */
export async function dueTenants(db: DbOrTx, { moduleId, now, limit, after, isProbe }: Turn): Promise<string[]> {
  const all = due(db, now).where('service.module_id', '=', moduleId).select('one.tenant_id')
  const rows = await (isProbe ? all.orderBy(sql`case when position.attempt > 0 then 1 else 0 end`) : all)
    .orderBy(sql`case when one.tenant_id > ${after} then 0 else 1 end`)
    .orderBy('one.tenant_id')
    .limit(limit)
    .execute()
  return rows.map(({ tenant_id }) => tenant_id)
}
