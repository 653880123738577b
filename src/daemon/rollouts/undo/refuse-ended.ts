import { problem } from '../../../core/kit/index.ts'
import { isOver } from '../../../core/rollouts/index.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/** What is over is over: nothing of it is under way that could be taken back as one. Throws INVALID_TRANSITION with what can be done instead. */
export function refuseEnded({ id, status }: Pick<StoredRollout, 'id' | 'status'>): void {
  if (!isOver(status)) return
  const stands =
    status === 'rolled_back'
      ? `is rolled back already: \`tenantry rollouts show ${id}\` tells where its boxes are, and \`tenantry rollouts undo ${id} --resume\` ` +
        'tries those again that were to go back and did not. Any box:'
      : `is ${status} and stays so: bring single boxes back with`
  throw problem(
    'INVALID_TRANSITION',
    `the rollout ${id} ${stands} \`tenantry snapshots restore <slug> --snapshot <id> --reason <why>\` ` +
      '(`tenantry snapshots list --slug <slug>` tells the one from before the update)',
  )
}
