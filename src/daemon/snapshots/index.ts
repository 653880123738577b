// Snapshots of boxes: the registry, repositories and their passwords, scheduled tasks, retention, drills and restores.
// Agents take and restore snapshots, never the daemon. The daemon deletes only expired snapshots, in a bucket with a credential of its own.
// No repository password is stored; each is derived from a key in the settings.
import './snapshots.tables.ts'
import { snapshotsContract } from '../../core/snapshots/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { abandonSnapshots } from './abandon-snapshots.ts'
import type { SnapshotsDeps } from './deps.ts'
import { drillBox } from './drill-box.ts'
import { listSnapshots } from './list-snapshots.ts'
import { maintainStores } from './maintain-stores.ts'
import { planRecovery, recoverBox } from './recover-box.ts'
import { restoreBox } from './restore-box.ts'
import { snapshotMetrics } from './snapshot-metrics.ts'
import { taskLoop } from './snapshot-tasks.ts'
import { snapshotsJobs } from './snapshots.jobs.ts'
import { summarizeProofs } from './summarize-proofs.ts'
import { takeSnapshot } from './take-snapshot.ts'
import { archiveWatch } from './watch-archives.ts'
import { ageWatch } from './watch-snapshots.ts'

export type { SnapshotsDeps } from './deps.ts'
export { eraseSnapshots, snapshotsOnHosts } from './erase-snapshots.ts'
export { exchangeArchives } from './exchange-archives.ts'
export { storeListener } from './lost-stores.ts'
export { snapshotForMove } from './move-snapshots.ts'
export { snapshotsOfBox } from './proofs.ts'
export { commandsOfRestores, recordRestore, slugsBeingRestored } from './restore-box.ts'
export { recordRestoredDatabase, retentionRule } from './retention.ts'
export { snapshotListener } from './snapshot-listener.ts'
export { snapshotMetrics } from './snapshot-metrics.ts'
export {
  agentRepository,
  assertSnapshotsConfigured,
  commandSecrets,
  hasRecoveryKey,
  reachesStore,
  recoveryPassword,
  repositoryAddress,
  snapshotRepository,
} from './snapshot-store.ts'
export { snapshotsJobs } from './snapshots.jobs.ts'
export { isStored, newestPerTenant, registeredSnapshots } from './snapshots.repo.ts'
export { ageWatch } from './watch-snapshots.ts'

export const snapshotsRoutes = (deps: SnapshotsDeps) =>
  serveContract(snapshotsContract, {
    listSnapshots: ({ query }) => listSnapshots(deps, query),
    summarizeProofs: () => summarizeProofs(deps),
    takeSnapshot: ({ actor, params }) => takeSnapshot(deps, actor, params.slug),
    restoreBox: ({ actor, params, body }) => restoreBox(deps, actor, { ...params, ...body }),
    abandonSnapshots: ({ actor, params, body }) => abandonSnapshots(deps, actor, { ...params, ...body }),
    drillBox: ({ actor, params, body }) => drillBox(deps, actor, { ...params, ...body }),
    planRecovery: ({ params, query }) => planRecovery(deps, { ...params, ...query }),
    recoverBox: ({ actor, params, body }) => recoverBox(deps, actor, { ...params, ...body }),
  })

export const snapshotsFeature = feature<SnapshotsDeps>({
  name: 'snapshots',
  routes: snapshotsRoutes,
  crons: snapshotsJobs,
  loops: (deps) => [
    taskLoop(deps),
    { name: 'maintain repositories in a bucket', everyMs: 30_000, run: ({ signal }) => maintainStores(deps, signal) },
    ageWatch(deps),
    archiveWatch(deps),
  ],
  metrics: ({ db, clock, archive }, registry) => snapshotMetrics({ db, clock, archive, registry }),
})
