// Snapshots: where each tenant's are and what opens them, which there are, how long each is kept, and the proof that it comes back.
// The daemon takes and restores none itself: agents do. It deletes only what retention gives up, and in a bucket with a credential of its own.
// No password is ever stored; each is derived from a key of the settings when it is asked for.
import './snapshots.tables.ts'

export { commandsOfRestores } from './commands-in-use.ts'
export type { SnapshotsDeps } from './deps.ts'
export { keptSnapshots } from './kept-snapshots.ts'
export { recordRestore } from './note-restore.ts'
export { slugsBeingRestored } from './restore-box.ts'
export { snapshotForMove } from './snapshot-for-move.ts'
export { snapshotListener } from './snapshot-listener.ts'
export { snapshotMetrics } from './snapshot-metrics.ts'
export { snapshotRule } from './snapshot-rule.ts'
export {
  agentRepository,
  commandSecrets,
  reachesStore,
  recoveryPassword,
  repositoryAddress,
  requireSnapshots,
  snapshotRepository,
} from './snapshot-store.ts'
export { snapshotsJobs } from './snapshots.jobs.ts'
export { snapshotsRoutes } from './snapshots.routes.ts'
export { snapshotsOfBox } from './snapshots-of-box.ts'
export { runSnapshotTurns } from './take-turns.ts'
export { runStoreUpkeep } from './tend-stores.ts'
