import type { BootstrapModule } from '../../core/bootstrap/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import type { SpacesOf } from '../tasks/index.ts'

/** The modules of a tenant, by key. Whoever answers it records a `module.…` event with each change of them. */
export type ModulesOf = (db: DbOrTx, tenantId: string) => Promise<readonly BootstrapModule[]>

/** As long as there are no modules. */
export const noModules: ModulesOf = async () => []

export type BootstrapDeps = Readonly<{ db: Db; roles: RoleBook; spacesOf: SpacesOf; modulesOf: ModulesOf }>
