import { sql } from 'kysely'
import { erasedName, tableRules } from '../../core/privacy/index.ts'
import { contains, type Db } from '../db/index.ts'

type ErasedUser = Readonly<{ id: string; tenantId: string }>

/**
 * Replaces the id of an erased user in every table by the table of rules, one transaction each. An id is 20 random letters, so its text is found
 * inside JSON too and is never part of another.
 */
export async function replaceNames(db: Db, user: ErasedUser, signal?: AbortSignal): Promise<void> {
  for (const [table, { users = {} }] of Object.entries(tableRules))
    for (const [column, erasure] of Object.entries(users)) {
      signal?.throwIfAborted()
      if (erasure !== 'feature') await eraseIn(db, user, { table, column, erasure })
    }
}

type Place = Readonly<{ table: string; column: string; erasure: 'replace' | 'clear' | 'row' }>

async function eraseIn(db: Db, { id, tenantId }: ErasedUser, { table, column, erasure }: Place): Promise<void> {
  const [from, named] = [sql.table(table), sql.ref(column)]
  const theirs = sql`where tenant_id = ${tenantId} and ${contains(column, id)}`
  if (erasure === 'row') await sql`delete from ${from} ${theirs}`.execute(db)
  else if (erasure === 'clear') await sql`update ${from} set ${named} = null ${theirs}`.execute(db)
  else await sql`update ${from} set ${named} = replace(${named}, ${id}, ${erasedName}) ${theirs}`.execute(db)
}
