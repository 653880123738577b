import type { DbOrTx } from '../db/index.ts'

/** The boxes of a tenant that still exist or have data on a host, each with the command that erases it. */
export async function boxesToErase(db: DbOrTx, { id }: Readonly<{ id: string }>): Promise<readonly string[]> {
  const rows = await db.selectFrom('boxes').select(['slug', 'removal']).where('tenant_id', '=', id).orderBy('slug').execute()
  return rows
    .filter(({ removal }) => removal !== 'erased')
    .map(({ slug, removal }) => {
      const state = removal === 'removed' ? 'is removed, but its data is still on its host' : 'exists'
      return `Box ${slug} ${state}. fix: tenantry boxes remove ${slug} --now --reason <why>`
    })
}
