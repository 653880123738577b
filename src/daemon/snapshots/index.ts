// Snapshots of boxes: the registry, repositories and their passwords, scheduled tasks, retention, drills and restores.
// Agents take and restore snapshots, never the daemon. The daemon deletes only expired snapshots, in a bucket with a credential of its own.
// No repository password is stored; each is derived from a key in the settings.
import './snapshots.tables.ts'
import { feature } from '../feature/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { runStoreMaintenance } from './maintain-stores.ts'
import { snapshotMetrics } from './snapshot-metrics.ts'
import { runSnapshotTasks } from './snapshot-tasks.ts'
import { snapshotsJobs } from './snapshots.jobs.ts'
import { snapshotsRoutes } from './snapshots.routes.ts'

export type { SnapshotsDeps } from './deps.ts'
export { eraseSnapshots, snapshotsOnHosts } from './erase-snapshots.ts'
export { snapshotForMove } from './move-snapshots.ts'
export { snapshotsOfBox } from './proofs.ts'
export { commandsOfRestores, recordRestore, slugsBeingRestored } from './restore-box.ts'
export { retentionRule } from './retention.ts'
export { snapshotListener } from './snapshot-listener.ts'
export { snapshotMetrics } from './snapshot-metrics.ts'
export {
  agentRepository,
  assertSnapshotsConfigured,
  commandSecrets,
  reachesStore,
  recoveryPassword,
  repositoryAddress,
  snapshotRepository,
} from './snapshot-store.ts'
export { snapshotsJobs } from './snapshots.jobs.ts'
export { registeredSnapshots } from './snapshots.repo.ts'
export { snapshotsRoutes } from './snapshots.routes.ts'

export const snapshotsFeature = feature<SnapshotsDeps>({
  name: 'snapshots',
  routes: snapshotsRoutes,
  crons: snapshotsJobs,
  loops: (deps) => [(signal) => runSnapshotTasks(deps, signal), (signal) => runStoreMaintenance(deps, signal)],
  metrics: ({ db, clock }, registry) => snapshotMetrics({ db, clock, registry }),
})
