import type { Clock, Random } from '../../core/kit/index.ts'
import type { OwnSpace } from '../../core/spaces/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'

/** Dependencies of the whole feature; each verb takes the part that it uses. */
export type TasksDeps = Readonly<{ db: Db; clock: Clock; random: Random; roles: RoleBook; spacesOf: SpacesOf; runTasks: RunTasks }>

type TaskOfRun = Readonly<{ tenantId: string; runId: string; id: string }>

/** The runs of boards that tasks belong to. */
export type RunTasks = Readonly<{
  /** Locks the run before its task is locked, in the same order as a step of the run does. */
  lock(tx: Tx, task: TaskOfRun): Promise<void>
  /** Steps the run in the transaction that completes its task. `by`: null for automation. Throws RUN_FAILED. */
  completed(tx: Tx, task: TaskOfRun, by: string | null): Promise<void>
}>

/**
 * The spaces of a user. The feature that implements it records `user.joined` and `user.left` with each change of a membership, and `space.updated` with
 * each other change: bootstrap documents are cached until such an event.
 */
export type SpacesOf = (db: DbOrTx, user: Readonly<{ tenantId: string; userId: string }>) => Promise<readonly OwnSpace[]>
