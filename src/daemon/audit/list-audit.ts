import type { AuditEntry } from '../../core/audit/index.ts'
import type { Db } from '../db/index.ts'
import { asEntry } from './audit.repo.ts'

type Query = Readonly<{
  chain: string
  limit: number
  /** The `seq` of the last entry of the page before. */
  cursor?: number | undefined
  actor?: string | undefined
  action?: string | undefined
  subject?: string | undefined
}>

const filters = ['actor', 'action', 'subject'] as const

/** A page of a chain, newest first. A filter fits exactly, or by its beginning when it ends with `*`. */
export async function listAudit({ db }: { db: Db }, query: Query): Promise<{ entries: AuditEntry[]; nextCursor: string | null }> {
  let select = db.selectFrom('audit').selectAll().where('chain', '=', query.chain).orderBy('seq', 'desc')
  if (query.cursor) select = select.where('seq', '<', query.cursor)
  for (const filter of filters) {
    const wanted = query[filter]
    if (wanted?.endsWith('*')) {
      const start = wanted.slice(0, -1)
      select = select.where((where) => where(where.fn<string>('substr', [filter, where.lit(1), where.lit(start.length)]), '=', start))
    } else if (wanted) select = select.where(filter, '=', wanted)
  }
  const rows = await select.limit(query.limit + 1).execute()
  const entries = rows.slice(0, query.limit).map(asEntry)
  return { entries, nextCursor: rows.length > query.limit ? String(entries.at(-1)?.seq) : null }
}
