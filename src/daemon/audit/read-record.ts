import { type RecordEntry, recordEntryOf, recordedActions } from '../../core/audit/index.ts'
import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { asEntry } from './audit.repo.ts'

type Query = Readonly<{
  limit: number
  cursor?: string | undefined
  from?: string | undefined
  to?: string | undefined
  action?: string | undefined
  userId?: string | undefined
}>

/**
 * A page of what happened in the caller's tenant, newest first. A slug is free again after its tenant was deleted, so nothing from before the creation of
 * the tenant counts. Throws NOT_FOUND for a user of another tenant, VALIDATION for a cursor that no page returned.
 */
export async function listOwnAudit(
  { db }: Readonly<{ db: Db }>,
  { tenantId, tenantSlug }: PlatformPrincipal,
  { limit, cursor, from, to, action, userId }: Query,
): Promise<Readonly<{ entries: RecordEntry[]; nextCursor: string | null }>> {
  const tenant = await db.selectFrom('tenants').select('created_at').where('id', '=', tenantId).executeTakeFirstOrThrow()
  let query = db
    .selectFrom('audit')
    .selectAll()
    .where('chain', '=', 'admin')
    .where('about', '=', tenantSlug)
    .where('at', '>=', tenant.created_at)
    .where('action', 'in', action === undefined ? Object.keys(recordedActions) : [action])
  if (from !== undefined) query = query.where('at', '>=', from)
  if (to !== undefined) query = query.where('at', '<', to)
  if (userId !== undefined) query = query.where('subject', '=', await subjectOf(db, { tenantId, tenantSlug, userId }))
  if (cursor !== undefined) {
    const { createdAt, id } = readPageEnd(cursor)
    query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('at', 'hash'), '<', tuple(createdAt, id)))
  }
  const rows = await query
    .orderBy('at', 'desc')
    .orderBy('hash', 'desc')
    .limit(limit + 1)
    .execute()
  const { page, nextCursor } = pageOf(rows, limit, ({ at, hash }) => pageEnd({ createdAt: at, id: hash }))
  return { entries: page.map((row) => recordEntryOf(asEntry(row))), nextCursor }
}

type OfUser = Readonly<{ tenantId: string; tenantSlug: string; userId: string }>

async function subjectOf(db: Db, { tenantId, tenantSlug, userId }: OfUser): Promise<string> {
  const user = await db
    .selectFrom('users')
    .select('localpart')
    .where('id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst()
  if (!user) throw problem('NOT_FOUND', `User ${userId} does not exist in your organisation`)
  return `${tenantSlug}/${user.localpart}`
}
