import type { DbOrTx } from '../db/index.ts'

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
