import type { Homeservers } from '../../core/homeserver/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { RoleBook, UserStatus } from '../../core/users/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db, Tx } from '../db/index.ts'
import type { UserRecord } from './users.repo.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type UsersDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  roles: RoleBook
  homeservers: Homeservers
  /** Aborts when the daemon shuts down. */
  draining?: AbortSignal | undefined
}> &
  UsersPorts

/** Effects in features that build on this one; the app wires them. Each belongs to the transaction that it gets. */
export type UsersPorts = Readonly<{
  /** Holds the counter of the revocations until the commit: call it late. */
  endUserSessions(tx: Tx, clock: Clock, ended: Readonly<{ userId: string; by: 'disabled' | 'reset' }>): Promise<void>
  unlockLogin(tx: Tx, user: Readonly<{ tenantId: string; localpart: string }>): Promise<void>
  /** Returns the tasks that a disabled or erased user has taken to their roles. */
  returnTasks(tx: Tx, clock: Clock, user: Readonly<{ tenantId: string; userId: string }>): Promise<void>
  /** Sends all spaces and members of a tenant to its chat server again. */
  resyncSpaces(tx: Tx, clock: Clock, tenantId: string): Promise<void>
}>

/** The roles and the status of a user after a change; absent ones stay. */
export type UserChange = Readonly<{ roles?: readonly string[] | undefined; status?: UserStatus | undefined }>

/** Checks for a user of the tenant who administers its users. Operators have no such rules. */
export type DelegatedRules = Readonly<{
  /** Why these roles cannot be given out; undefined: they can. */
  refusalOfRoles(roles: readonly string[]): string | undefined
  /** Why a user of these roles cannot be changed; undefined: it can. */
  refusalOfUser(user: Pick<UserRecord, 'roles'>): string | undefined
  /** Throws FORBIDDEN, or CONFLICT for the last administrator. Belongs to the transaction of the change, which has locked the user. */
  assertMayChange(tx: Tx, user: UserRecord, change: UserChange): Promise<void>
  /** Invites a new user by mail, and returns until when. Null: it cannot be invited, and gets an initial password. */
  invite?: ((tx: Tx, user: UserRecord) => Promise<string | null>) | undefined
}>

/** Absent: the caller is an operator. */
export type Delegated = Readonly<{ delegated?: DelegatedRules | undefined }>
