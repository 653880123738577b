// The registry of boxes: the manifest, the reports of their agents, drift, holds, and the lifecycle (set-up, adoption, maintenance, moves, removal).
// It works by commands to agents. It never starts an update (rollouts do), and accepts reports only from the host that has the box.
// Without a fresh report drift is `unknown`, never in sync.
import './boxes.tables.ts'
import type { Logger } from '../../node/index.ts'
import { feature } from '../feature/index.ts'
import { boxesSealedColumns } from './box-secrets.ts'
import { boxesJobs } from './boxes.jobs.ts'
import { type BoxesDeps, boxesRoutes } from './boxes.routes.ts'
import { lifecycleJobs } from './lifecycle/lifecycle.jobs.ts'
import { watchFences } from './lifecycle/watch-fences.ts'
import { deleteOldAnswers } from './query-boxes.ts'
import { deleteOldSizes } from './sizes.ts'
import { healthWatch } from './watch-health.ts'

export { applyReports } from './apply-report.ts'
export { holdBox, holdsBySlug, holdsOf, releaseHold } from './box-holds.ts'
export { type BoxMetrics, boxMetricsAfter, countBoxesOfHosts } from './box-metrics.repo.ts'
export { boxPort } from './box-port.ts'
export type { BoxRecord } from './box-record.ts'
export { boxSecret } from './box-secrets.ts'
export { boxesJobs } from './boxes.jobs.ts'
export { boxById, boxBySlug, boxesInScope, existingBox, lockBox } from './boxes.repo.ts'
export { type BoxesDeps, boxesRoutes } from './boxes.routes.ts'
export { detectDrift } from './detect-drift.ts'
export { type FleetDeps, readFleet, readHost } from './fleet.ts'
export { commandsOfLifecycle, commandsOfSetUp, snapshotsOfLifecycle } from './in-use.ts'
export { lifecycleJobs } from './lifecycle/lifecycle.jobs.ts'
export { boxesDeclaredDead } from './lifecycle/ownership.ts'
export { slugsRebuiltFromSnapshot } from './lifecycle/procedures.repo.ts'
export { restartingBoxes } from './lifecycle/restart-box.ts'
export { watchFences } from './lifecycle/watch-fences.ts'
export {
  applyManifest,
  applyNextManifest,
  currentManifest,
  importManifest,
  loadBoxMigrations,
  manifestByRevision,
  manifestsBefore,
  newestManifest,
} from './manifests.ts'
export { assertLive, deleteOldAnswers } from './query-boxes.ts'
export { boxesToErase } from './tenant-boxes.ts'
export { upgradeRehearsals } from './upgrades.ts'
export { healthWatch } from './watch-health.ts'

export const boxesFeature = feature<BoxesDeps & Readonly<{ log: Logger; owner: string }>>({
  name: 'boxes',
  routes: boxesRoutes,
  crons: (deps) => [...boxesJobs(deps), ...lifecycleJobs(deps)],
  loops: (deps) => [
    healthWatch(deps),
    { name: 'watch fences', everyMs: 30_000, run: () => watchFences(deps) },
    { name: 'delete logs of boxes', everyMs: 30_000, run: () => deleteOldAnswers(deps, deps.db) },
  ],
  cleanup: (deps) => [() => deleteOldSizes(deps)],
  sealed: boxesSealedColumns,
})
