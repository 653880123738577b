// The registry of boxes: what each should run (the manifest), what it runs (reports), how far that is apart (drift), who holds it.
// It sets boxes up by commands to their hosts and asks them questions. It never starts an update (that is rollouts) and believes a host
// only about its own boxes; what is not freshly known is `unknown`, never in sync.
import './boxes.tables.ts'
import './life/life.tables.ts'

export { applyManifest } from './apply-manifest.ts'
export { applyReports } from './apply-report.ts'
export { type BoxHold, holdBox, holdsBySlug, holdsOf, releaseHold } from './box-holds.ts'
export type { BoxRecord } from './box-record.ts'
export { boxesSealedColumns, boxSecret } from './box-secrets.ts'
export { boxSide } from './box-side.ts'
export { boxesJobs } from './boxes.jobs.ts'
export { boxById, boxBySlug, boxesInScope, existingBox } from './boxes.repo.ts'
export { type BoxesNeeds, boxesRoutes } from './boxes.routes.ts'
export { commandsOfSetUp } from './commands-in-use.ts'
export { detectDrift } from './detect-drift.ts'
export { type FleetNeeds, lookAtFleet } from './fleet.ts'
export { importManifest } from './import-manifest.ts'
export { commandsOfLife, snapshotsOfLife } from './life/in-use.ts'
export { lifeJobs } from './life/life.jobs.ts'
export { watchFences } from './life/watch-fences.ts'
export { loadBoxMigrations } from './load-box-migrations.ts'
export { currentManifest, manifestByRevision } from './manifests.repo.ts'
