import { roleKey } from '../../core/tasks/index.ts'
import { contains, type DbOrTx } from '../db/index.ts'

type WithRole = Readonly<{ tenantId: string; role: string; limit: number }>

/** Ids of the active users with a role, in either spelling: `SCHOOL_PRINCIPAL` or `school-principal`. */
export async function activeUserIdsWith(db: DbOrTx, { tenantId, role, limit }: WithRole): Promise<string[]> {
  const rows = await db
    .selectFrom('users')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'active')
    // Roles are stored as JSON, so a quoted name matches a whole name.
    .where(contains('roles', JSON.stringify(roleKey(role))))
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** The users of the tenant among these ids, with their names and whether they are active. */
export const usersAmong = (db: DbOrTx, { tenantId, ids }: Readonly<{ tenantId: string; ids: readonly string[] }>) =>
  ids.length === 0
    ? Promise.resolve([])
    : db
        .selectFrom('users')
        .select(['id', 'localpart', 'status'])
        .where('tenant_id', '=', tenantId)
        .where('id', 'in', [...ids])
        .execute()
