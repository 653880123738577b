import type { Clock, Random } from '../../core/kit/index.ts'
import type { OwnSpace } from '../../core/spaces/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'

type User = Readonly<{ tenantId: string; userId: string }>

/** Dependencies of the whole feature; each verb takes the part that it uses. */
export type BoardsDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  roles: RoleBook
  spacesOf: (db: DbOrTx, user: User) => Promise<readonly OwnSpace[]>
  /** Ids of the rooms of a tenant's spaces. */
  roomsOf: (db: DbOrTx, tenant: Readonly<{ tenantId: string }>) => Promise<readonly string[]>
}>
