import type { BoxMigration, SynapseSchemas } from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { PaymentProvider } from '../../core/payments/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Logger, Tracing } from '../../node/index.ts'
import type { LoginLinks } from '../admin/index.ts'
import type { Config } from '../config/index.ts'
import type { Db } from '../db/index.ts'
import type { Rehearse } from '../rollouts/index.ts'
import type { Keyring } from '../sealed/index.ts'

/** The parts of a daemon that exist before its features. */
export type BaseDeps = Readonly<{
  config: Config
  db: Db
  keyring: Keyring
  clock: Clock
  random: Random
  log: Logger
  /** Absent: off. */
  tracing?: Tracing | undefined
  /** Box migrations and Synapse schemas of this package. */
  migrations: readonly BoxMigration[]
  schemas: SynapseSchemas
  /** Capabilities of tenants' users by role. */
  roles: RoleBook
  rehearse?: Rehearse | undefined
  /** Absent: the one of the settings. */
  provider?: PaymentProvider | undefined
  /** Login links of a demo; a daemon of an operator has none. */
  loginLinks?: LoginLinks | undefined
  /** Aborts when the daemon drains. */
  draining: AbortSignal
}>
