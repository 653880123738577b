import { sql } from 'kysely'
import { type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import type { CatalogueQuery, Rating, StoreItem } from '../../../core/store/index.ts'
import { contains, type DbOrTx } from '../../db/index.ts'
import { type ApprovedModule, approvedOf, listedIn, withdrawalColumns } from './approved-modules.ts'
import type { StoreDeps } from './deps.ts'
import { newestRatings } from './ratings.ts'

type Deps = Pick<StoreDeps, 'db'>

const matching = (db: DbOrTx, { category, search }: Pick<CatalogueQuery, 'category' | 'search'>) => {
  const listed = listedIn(db)
  const inCategory = category === undefined ? listed : listed.where('version.category', '=', category)
  const text = search?.trim().toLowerCase()
  return text ? inCategory.where(contains('version.search', text)) : inCategory
}

/** Versions with what the catalogue shows of them for one tenant. */
const withNumbers = (query: ReturnType<typeof listedIn>, tenantId: string) =>
  query
    .leftJoin('module_installations as own', (join) =>
      join.onRef('own.module_id', '=', 'version.module_id').on('own.tenant_id', '=', tenantId).on('own.status', '!=', 'deleted'),
    )
    .selectAll('version')
    .select([...withdrawalColumns, 'own.status as own_status', 'own.version as own_version'])
    .select(({ selectFrom }) => [
      selectFrom('module_installations as one')
        .whereRef('one.module_id', '=', 'version.module_id')
        .where('one.status', 'in', ['installed', 'active'])
        .select(({ fn }) => fn.countAll().as('count'))
        .as('installations'),
      selectFrom('store_ratings as rating')
        .whereRef('rating.module_id', '=', 'version.module_id')
        .select(({ fn }) => fn.countAll().as('count'))
        .as('rating_count'),
      selectFrom('store_ratings as rating')
        .whereRef('rating.module_id', '=', 'version.module_id')
        .select(sql<number>`coalesce(avg(rating.rating), 0)`.as('average'))
        .as('rating_average'),
    ])

type Row = Awaited<ReturnType<ReturnType<typeof withNumbers>['execute']>>[number]

function itemOf(row: Row, { moduleId, manifest }: ApprovedModule): StoreItem {
  const { name, version, type, description, category, author, billing } = manifest
  return {
    ...{ moduleId, name, version, type, description, category, author, billing },
    rating: { average: Math.round(Number(row.rating_average) * 100) / 100, count: Number(row.rating_count) },
    installations: Number(row.installations),
    installed: installedOf(row),
  }
}

const installedOf = ({ own_status: status, own_version: version }: Row): StoreItem['installed'] =>
  status === null || status === 'deleted' || version === null ? null : { status, version }

const orders = {
  popular: ['installations', 'rating_average'],
  newest: ['version.approved_at'],
  rating: ['rating_average', 'rating_count'],
} as const

export async function listStoreModules({ db }: Deps, actor: PlatformPrincipal, query: CatalogueQuery) {
  const { count } = await matching(db, query)
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow()
  let found = withNumbers(matching(db, query), actor.tenantId).limit(query.limit).offset(query.offset)
  for (const column of orders[query.sort]) found = found.orderBy(column, 'desc')
  const rows = await found.orderBy('version.module_id').execute()
  return { modules: rows.map((row) => itemOf(row, approvedOf(row))), total: Number(count) }
}

/** The listed version of a module. Throws NOT_FOUND. */
export async function showStoreModule({ db }: Deps, actor: PlatformPrincipal, moduleId: string) {
  const row = await withNumbers(listedIn(db).where('version.module_id', '=', moduleId), actor.tenantId).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `The store has no module ${moduleId}. fix: list its modules with GET …/store/modules`)
  const approved = approvedOf(row)
  const { manifest, checksum, approvedAt } = approved
  const ratings: Rating[] = await newestRatings(db, moduleId)
  return { ...itemOf(row, approved), manifest, checksum, approvedAt, ratings }
}
