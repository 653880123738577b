import { sql } from 'kysely'
import type { PlatformPrincipal } from '../../core/kit/index.ts'
import { tableRules } from '../../core/privacy/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type ExportDeps, exportRows } from './export-rows.ts'

type Input = Readonly<{
  user: Readonly<{ id: string; localpart: string; tenantId: string }>
  slug: string
  cursor?: string | undefined
}>

const exported = Object.entries(tableRules).flatMap(([table, { export: key, person }]) =>
  key && person ? [{ table, key, ...person }] : [],
)

/**
 * One page of the rows that belong to one user, without the columns in which others may be named. Audited with the first page. Throws VALIDATION for
 * an invalid cursor.
 */
export async function exportPerson(deps: ExportDeps, actor: PlatformPrincipal, { user, slug, cursor }: Input) {
  const { db, clock } = deps
  const record = { actor, action: 'user.exported', subject: `${slug}/${user.localpart}`, data: { userId: user.id } }
  if (cursor === undefined) await db.transaction().execute((tx) => recordAudit(tx, clock, record))
  const sources = exported.map(({ table, key, by, omit }) => {
    const isTheirs = sql.join(
      by.map((column) => sql`${sql.ref(column)} = ${user.id}`),
      sql` or `,
    )
    return { table, key, omit, where: sql`tenant_id = ${user.tenantId} and (${isTheirs})` }
  })
  return exportRows(deps, { sources, whose: `${user.tenantId}/${actor.userId}/${user.id}`, cursor })
}
