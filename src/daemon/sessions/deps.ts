import type { Homeservers } from '../../core/homeserver/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { SessionRules, SlowRefusal } from '../../core/sessions/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Revocations, SigningKeys } from '../auth/index.ts'
import type { Db } from '../db/index.ts'
import type { LoginWaiters } from './login-attempts.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type SessionsDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  /** Keys of the audience `platform`. */
  keys: SigningKeys<'platform'>
  revocations: Revocations
  homeservers: Homeservers
  roles: RoleBook
  rules: SessionRules
  waiting: LoginWaiters
  refusals: RefusalTimes
  /** Aborts when the daemon shuts down. */
  draining?: AbortSignal | undefined
}>

/** The slowest refusal of this replica; the next ones are as slow. */
export type RefusalTimes = { slow?: SlowRefusal | undefined }
