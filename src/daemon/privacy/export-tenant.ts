import type { AdminActor } from '../../core/kit/index.ts'
import { tableRules } from '../../core/privacy/index.ts'
import { recordAudit } from '../audit/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { type ExportDeps, exportRows } from './export-rows.ts'
import { isOfTenant } from './tenant-rows.ts'

type Input = Readonly<{ slug: string; cursor?: string | undefined }>

const exported = Object.entries(tableRules).flatMap(([table, { tenant, export: key }]) =>
  key && tenant !== null ? [{ table, tenant, key }] : [],
)

/** One page of the rows of a tenant. Audited with the first page. Throws NOT_FOUND, VALIDATION for an invalid cursor. */
export async function exportTenant(deps: ExportDeps, actor: AdminActor, { slug, cursor }: Input) {
  const { db, clock } = deps
  const tenant = await existingTenant(db, slug)
  if (cursor === undefined)
    await db
      .transaction()
      .execute((tx) => recordAudit(tx, clock, { actor, action: 'tenant.exported', subject: slug, data: { tenantId: tenant.id } }))
  const sources = exported.map(({ table, tenant: owner, key }) => ({ table, key, where: isOfTenant(owner, tenant.id) }))
  return exportRows(deps, { sources, whose: `${tenant.id}/${actor.accountId}`, cursor })
}
