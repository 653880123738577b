import type { Clock } from '../../core/kit/index.ts'
import { isOver } from '../../core/rollouts/index.ts'
import { requestCheckpoint } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { countActions } from './actions.repo.ts'
import type { StoredRollout } from './rollouts.repo.ts'
import { streamOf } from './tell.ts'

/** What was under way when its rollout ended ends after it: once nothing of it is left to do the story is whole, and is signed. */
export async function checkpointAtEnd(tx: Tx, clock: Clock, { id, status }: Pick<StoredRollout, 'id' | 'status'>): Promise<void> {
  if (!isOver(status)) return
  const { running, undo } = (await countActions(tx, [id]))(id)
  if (running + (undo?.pending ?? 0) === 0) await requestCheckpoint(tx, clock, { chain: streamOf(id) })
}
