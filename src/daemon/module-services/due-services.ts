import { sql } from 'kysely'
import type { DbOrTx } from '../db/index.ts'

/** Installations whose service is to get an event: active, with consent to the host, behind the stream, and no delay is in force. */
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
    .where('one.paused', '=', 0)
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

/** Tenants of a module with something to deliver; those without a failed attempt first, so that one bad event delays no other tenant. */
export async function dueTenants(db: DbOrTx, { moduleId, now, limit }: Readonly<{ moduleId: string; now: string; limit: number }>) {
  const rows = await due(db, now)
    .where('service.module_id', '=', moduleId)
    .select(['one.tenant_id', 'position.attempt', 'position.next_at'])
    .orderBy('position.attempt')
    .orderBy('position.next_at')
    .orderBy('one.tenant_id')
    .limit(limit)
    .execute()
  return rows.map(({ tenant_id }) => tenant_id)
}
