import type { BoxMigration, SynapseSchemas } from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Config } from '../config/index.ts'
import type { Db } from '../db/index.ts'
import type { Rehearse } from '../rollouts/index.ts'
import type { Keyring } from '../sealed/index.ts'

export type FeatureDeps = Readonly<{
  config: Config
  db: Db
  keyring: Keyring
  clock: Clock
  random: Random
  log: Logger
  /** What the package carries for boxes. */
  migrations: readonly BoxMigration[]
  schemas: SynapseSchemas
  /** What users of tenants may do, by their roles. */
  roles: RoleBook
  rehearse?: Rehearse | undefined
  draining: AbortSignal
}>

export const hourMs = 60 * 60_000
