import { z } from 'zod'
import type { Clock } from '../../core/kit/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { findUserById } from '../users/index.ts'
import type { TasksDeps } from './deps.ts'
import { moveTask } from './move-task.ts'
import { takenTasks } from './user-tasks.repo.ts'

/** Job: return the unfinished tasks of a disabled or erased user to their roles. */
const returnTopic = 'tasks.return'

const Payload = z.object({ tenantId: z.string(), userId: z.string() })
type Owner = z.infer<typeof Payload>

/** Enqueues it in the transaction that disables or erases the user, if the user has taken a task of a role. */
export async function enqueueTaskReturn(tx: Tx, clock: Clock, { tenantId, userId }: Owner): Promise<void> {
  if ((await takenTasks(tx, { tenantId, userId })).length === 0) return
  await enqueueJob(tx, clock, { topic: returnTopic, payload: { tenantId, userId }, key: userId })
}

type Deps = Pick<TasksDeps, 'db' | 'clock' | 'runTasks'>

export const taskJobs = (deps: Deps): Readonly<Record<string, JobHandler>> => ({
  [returnTopic]: async (payload, { signal }) => {
    const { tenantId, userId } = Payload.parse(payload)
    if ((await findUserById(deps.db, userId))?.status === 'active') return
    await returnTasks(deps, { tenantId, userId }, signal)
  },
})

/** Each task is returned in a transaction of its own. A task without a role stays: only users with `manageRuns` may assign it. */
export async function returnTasks(deps: Deps, { tenantId, userId }: Owner, signal?: AbortSignal): Promise<void> {
  for (const id of await takenTasks(deps.db, { tenantId, userId })) {
    if (signal?.aborted) throw new Error('stopped before all tasks were returned')
    await deps.db.transaction().execute((tx) => moveTask({ ...deps, tx }, { tenantId, id }, { type: 'assign', assigneeId: null }))
  }
}
