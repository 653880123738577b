// The registry of boxes: what each should run (the manifest), what it runs (reports), how far that is apart (drift), who holds it.
// It sets boxes up by commands to their hosts and asks them questions. It never starts an update (that is rollouts) and believes a host
// only about its own boxes; what is not freshly known is `unknown`, never in sync.
import './boxes.tables.ts'

export { applyReports } from './apply-report.ts'
export { forgetLogs, requireLive } from './ask-boxes.ts'
export { type BoxHold, holdBox, holdBoxes, holdsBySlug, holdsOf, releaseHold, releaseHolds } from './box-holds.ts'
export { boxSide } from './box-port.ts'
export type { BoxRecord } from './box-record.ts'
export { boxesSealedColumns, boxSecret } from './box-secrets.ts'
export { boxesJobs } from './boxes.jobs.ts'
export { boxById, boxBySlug, boxesInScope, existingBox, lockBox } from './boxes.repo.ts'
export { type BoxesDeps, boxesRoutes } from './boxes.routes.ts'
export { detectDrift } from './detect-drift.ts'
export { type FleetDeps, lookAtFleet, lookAtHost } from './fleet.ts'
export { commandsOfLife, commandsOfSetUp, snapshotsOfLife } from './in-use.ts'
export { lifeJobs } from './lifecycle/lifecycle.jobs.ts'
export { slugsBroughtBack } from './lifecycle/moves.repo.ts'
export { watchFences } from './lifecycle/watch-fences.ts'
export { applyManifest, currentManifest, importManifest, loadBoxMigrations, manifestByRevision, raiseManifest } from './manifests.ts'
