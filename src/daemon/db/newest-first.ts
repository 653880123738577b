import { type SelectQueryBuilder, sql } from 'kysely'
import type { PageEnd } from '../../core/contract/index.ts'

type Page = Readonly<{ after?: PageEnd | undefined; limit: number }>

/** Orders rows by `created_at` and `id`, newest first, and selects at most `limit` of them behind the end of the page before. */
export function newestFirst<Tables, From extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, From, Row>,
  { after, limit }: Page,
): SelectQueryBuilder<Tables, From, Row> {
  const ordered = query.orderBy(sql`created_at`, 'desc').orderBy(sql`id`, 'desc').limit(limit)
  return after ? ordered.where(sql<boolean>`(created_at, id) < (${after.createdAt}, ${after.id})`) : ordered
}
