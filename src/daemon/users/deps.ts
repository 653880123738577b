import type { Homeservers } from '../../core/homeserver/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db } from '../db/index.ts'

/** All that this room needs; each verb takes the part it uses. */
export type UsersDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  roles: RoleBook
  homeservers: Homeservers
  /** Aborts when the daemon ends. */
  draining?: AbortSignal | undefined
}>
