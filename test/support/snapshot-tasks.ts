import type { SnapshotsDeps } from '../../src/daemon/snapshots/index.ts'
import { taskLoop } from '../../src/daemon/snapshots/snapshot-tasks.ts'
import { roundsOf } from './loops.ts'

/** One pass over the queued tasks, unless another replica has the lease. */
export const startDueTasks = (deps: SnapshotsDeps): Promise<void> => roundsOf(deps, taskLoop(deps))()
