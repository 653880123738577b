import { problem } from '../../../core/kit/index.ts'
import { isOver } from '../../../core/rollouts/index.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

const afterwards = ({ kind }: StoredRollout): string =>
  kind === 'staged' ? 'staged rollouts continue after it' : 'a second emergency is created again and started after it'

/** Nothing starts beside an emergency that was started and is not finished, also while it is paused. Throws CONFLICT. */
export function assertNoEmergencyBeside(rollout: StoredRollout, others: readonly StoredRollout[], then = afterwards(rollout)): void {
  const running = others.find((other) => other.kind === 'emergency_cve' && other.startedAt !== null && !isOver(other.status))
  if (!running) return
  const { id, cveId, status } = running
  throw problem(
    'CONFLICT',
    `the emergency ${id} (${cveId}) is not finished (${status}); ${then}. ` +
      `fix: wait for its end, or end it with \`tenantry rollouts abort ${id}\` (boxes in flight finish)`,
  )
}
