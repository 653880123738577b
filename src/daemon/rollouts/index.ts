// Rollouts as they happen: planned, stored, driven box by box, told live, and proven attempt by attempt.
// One replica owns each running rollout by a lease; what it knows is in the database, so it may be killed anywhere.
// It only orders: whether an update is committed or restored is decided by the box's agent, and no job starts a rollout by itself.
import './rollouts.tables.ts'

export { askRegistries } from './ask-registries.ts'
export { commandsOfRollouts } from './commands-in-use.ts'
export { createRollout } from './create-rollout.ts'
export type { Rehearse, RolloutsDeps } from './deps.ts'
export { fixesOfEmergencies } from './emergency/fixes.repo.ts'
export { makeRolloutEngine, type RolloutEngine, startRolloutEngine } from './engine/engine.ts'
export { forgetRollouts } from './forget-rollouts.ts'
export { loadSynapseSchemas } from './load-synapse-schemas.ts'
export { resumeRollout } from './resume-rollout.ts'
export { makeRolloutBus } from './rollout-bus.ts'
export { rolloutById } from './rollouts.repo.ts'
export { rolloutsRoutes } from './rollouts.routes.ts'
export { showRollout } from './show-rollout.ts'
export { snapshotsOfRollouts } from './snapshots-in-use.ts'
export { startRollout } from './start-rollout.ts'
export { tellHead } from './tell-head.ts'
export { versionsBeforeUpdate } from './versions-before.repo.ts'
