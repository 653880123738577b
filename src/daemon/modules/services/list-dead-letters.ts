import { pageEnd, pageOf, readPageEnd } from '../../../core/contract/index.ts'
import { newestFirst } from '../../db/index.ts'
import type { ServicesDeps } from './deps.ts'

type Page = Readonly<{ id: string; limit: number; cursor?: string | undefined }>

/** Events that a service did not take within 24 hours, of all tenants, newest first. */
export async function listDeadLetters({ db }: Pick<ServicesDeps, 'db'>, { id, limit, cursor }: Page) {
  const query = db
    .selectFrom('module_dead_letters')
    .select(['id', 'tenant_id', 'seq', 'event_type', 'attempts', 'error', 'created_at'])
    .where('module_id', '=', id)
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const rows = await newestFirst(query, { after, limit: limit + 1 }).execute()
  const letters = rows.map((row) => ({
    ...{ id: row.id, tenant: row.tenant_id, seq: Number(row.seq), eventType: row.event_type },
    ...{ attempts: row.attempts, error: row.error, createdAt: row.created_at },
  }))
  const { page, nextCursor } = pageOf(letters, limit, pageEnd)
  return { deadLetters: page, nextCursor }
}
