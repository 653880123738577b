import { reaches } from '../../core/events/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { audienceOf, type Task } from '../../core/tasks/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { SpacesOf } from './spaces-of.ts'
import { findTask, lockTask, type TaskRecord } from './tasks.repo.ts'

/** As answers show it. */
export const taskView = ({ tenantId: _, createdBy: __, ...task }: TaskRecord): Task => task

type Deps = Readonly<{ spacesOf: SpacesOf }>
type One = Readonly<{ id: string }>

/** Whoever may not read a task is told what is told of one that is not there. */
const unknown = (id: string) =>
  problem('NOT_FOUND', `there is no task ${id} for you: GET /api/platform/v1/tasks lists those that you may read`)

async function readable(deps: Deps, db: DbOrTx, actor: PlatformPrincipal, task: TaskRecord | undefined, id: string): Promise<TaskRecord> {
  if (!task) throw unknown(id)
  const spaces = task.spaceId === null ? [] : await deps.spacesOf(db, actor)
  if (!reaches(audienceOf(task), actor, (spaceId) => spaces.some((space) => space.id === spaceId))) throw unknown(id)
  return task
}

/** A task that the caller may read. Throws NOT_FOUND. */
export const readTask = async (deps: Deps, db: DbOrTx, actor: PlatformPrincipal, { id }: One): Promise<TaskRecord> =>
  readable(deps, db, actor, await findTask(db, { tenantId: actor.tenantId, id }), id)

/** The same, until the transaction ends for its holder alone. */
export const holdTask = async (deps: Deps, tx: Tx, actor: PlatformPrincipal, { id }: One): Promise<TaskRecord> =>
  readable(deps, tx, actor, await lockTask(tx, { tenantId: actor.tenantId, id }), id)
