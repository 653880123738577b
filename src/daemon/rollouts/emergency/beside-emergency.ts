import { type Actor, problem } from '../../../core/kit/index.ts'
import { isOver } from '../../../core/rollouts/index.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/** Whoever may create an emergency may start it, and nobody else. Throws FORBIDDEN. */
export function requireEmergencyRole(actor: Actor): void {
  if (actor.kind === 'token') throw problem('FORBIDDEN', 'API tokens may not start an emergency: log in as a person with the role admin')
  if (actor.kind === 'admin' && actor.role !== 'admin')
    throw problem('FORBIDDEN', `starting an emergency needs the role admin; ${actor.name} is ${actor.role}`)
}

const goesOn = ({ kind }: StoredRollout): string =>
  kind === 'staged' ? 'staged rollouts go on afterwards' : 'a second emergency starts afterwards'

/** Nothing is begun beside an emergency that was started and is not over, also while it is paused. Throws CONFLICT. */
export function refuseBesideEmergency(rollout: StoredRollout, others: readonly StoredRollout[], then = goesOn(rollout)): void {
  const running = others.find((other) => other.kind === 'emergency_cve' && other.startedAt !== null && !isOver(other.status))
  if (!running) return
  const { id, cveId, status } = running
  throw problem(
    'CONFLICT',
    `the emergency ${id} (${cveId}) is not over (${status}), and ${then}: wait for its end, or end it with \`tenantry rollouts abort ${id}\` (boxes under way finish)`,
  )
}
