import type { Quotas } from '../../core/files/index.ts'
import type { Homeservers } from '../../core/homeserver/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db } from '../db/index.ts'
import type { ObjectStore } from '../objects/index.ts'
import type { Keyring } from '../sealed/index.ts'
import type { RunTasks } from '../tasks/index.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type AutomationDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  homeservers: Homeservers
  keyring: Keyring
  roles: RoleBook
  /** Zone of tenants that have none of their own. */
  timeZone: string
  objects: ObjectStore
  quotas: Quotas
  /** A task of a run is locked behind its run. */
  runTasks: RunTasks
}>

export type StoreDeps = Pick<AutomationDeps, 'db' | 'clock'>
