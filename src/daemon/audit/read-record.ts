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
  { userId, limit, ...query }: Query,
): Promise<Readonly<{ entries: RecordEntry[]; nextCursor: string | null }>> {
  const tenant = await db.selectFrom('tenants').select('created_at').where('id', '=', tenantId).executeTakeFirstOrThrow()
  const subject = userId === undefined ? undefined : await subjectOf(db, { tenantId, tenantSlug, userId })
  const rows = await entriesAbout(db, { ...query, slug: tenantSlug, since: tenant.created_at, subject, limit: limit + 1 })
  const { page, nextCursor } = pageOf(rows, limit, ({ at, hash }) => pageEnd({ createdAt: at, id: hash }))
  return { entries: page.map((row) => recordEntryOf(asEntry(row))), nextCursor }
}

type About = Omit<Query, 'userId'> & Readonly<{ slug: string; since: string; subject: string | undefined }>

/** Rows about a tenant along their index, newest first. */
export function entriesAbout(db: Db, { slug, since, subject, limit, cursor, from, to, action }: About) {
  let query = db
    .selectFrom('audit')
    .selectAll()
    .where('chain', '=', 'admin')
    .where('about', '=', slug)
    .where('at', '>=', from !== undefined && from > since ? from : since)
    .where('action', 'in', action === undefined ? Object.keys(recordedActions) : [action])
  if (to !== undefined) query = query.where('at', '<', to)
  if (subject !== undefined) query = query.where('subject', '=', subject)
  if (cursor !== undefined) {
    const { createdAt, id } = readPageEnd(cursor)
    query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('at', 'hash'), '<', tuple(createdAt, id)))
  }
  return query.orderBy('at', 'desc').orderBy('hash', 'desc').limit(limit).execute()
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
