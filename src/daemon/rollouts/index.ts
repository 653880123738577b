// Rollouts: planned, stored, run box by box, published live, and proven attempt by attempt.
// One replica owns each running rollout by a lease; its state is in the database, so it may be killed at any point.
// It decides which box is updated when. It never decides whether an update is committed or restored: the agent of the box does.
// No cron starts a rollout.
import './rollouts.tables.ts'
import { feature } from '../feature/index.ts'
import { cleanUpRollouts } from './clean-up-rollouts.ts'
import type { RolloutsDeps } from './deps.ts'
import { downtimeMetrics } from './downtime-metrics.ts'
import { gatesLoop } from './engine/ask-gates.ts'
import { rolloutLoop } from './engine/engine.ts'
import { rolloutsRoutes } from './rollouts.routes.ts'

export { versionsBeforeUpdate } from './attempts.repo.ts'
export { cleanUpRollouts } from './clean-up-rollouts.ts'
export { pauseRunningRollouts, resumeRollout } from './control-rollout.ts'
export { createRollout } from './create-rollout.ts'
export type { Rehearse, RolloutsDeps } from './deps.ts'
export { fixesOfEmergencies } from './emergency/emergencies.repo.ts'
export { lacksOf } from './emergency/lacks-of.ts'
export { makeRolloutEngine, type RolloutEngine, rolloutLoop } from './engine/engine.ts'
export { lateResults } from './engine/late-result.ts'
export {
  lastDowntimeMs,
  type RunningRollout,
  runningRollouts,
  standOfUpdates,
  type UpdateToCome,
  updatesTakenBack,
  updatesToCome,
} from './foreseen-updates.repo.ts'
export { commandsOfRollouts, snapshotsOfRollouts } from './open-rollouts.repo.ts'
export { loadSynapseSchemas } from './plan-rollout.ts'
export { type AskPrometheus, prometheusAt } from './prometheus.ts'
export { publishSignedHead } from './publish.ts'
export { askRegistries } from './resolve-images.ts'
export { makeRolloutBus } from './rollout-bus.ts'
export { rolloutById } from './rollouts.repo.ts'
export { rolloutsRoutes } from './rollouts.routes.ts'
export { showRollout } from './show-rollout.ts'
export { startRollout } from './start-rollout.ts'

export const rolloutsFeature = feature<RolloutsDeps>({
  name: 'rollouts',
  routes: (deps) => rolloutsRoutes(deps),
  loops: (deps) => [rolloutLoop(deps), gatesLoop(deps)],
  cleanup: (deps) => [(signal) => cleanUpRollouts(deps, signal)],
  metrics: (deps, registry) => downtimeMetrics(deps, registry),
})
