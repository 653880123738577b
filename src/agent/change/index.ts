// Shared by updates and restores of a box: the run and its result, the fence, stopping and starting services in order, exchanging the
// compose file, volumes of tries, and the proof of health. Core decides the next step (`core/saga`); the features update and restore
// implement their steps. Never decides which step is next or which data is retained.
export { observeBox, type Run, resultOf, runChange } from './change-run.ts'
export { commonResult, errorOf, removeLeftover } from './close.ts'
export { composeBackup, formerCompose, presentCompose, readComposeText, replaceCompose, restoreCompose } from './compose-exchange.ts'
export {
  assertDatabaseVolume,
  assertMounted,
  type DatabaseVolume,
  removeVolumes,
  startDatabaseOn,
  volumeOfTry,
  volumesOfTries,
} from './database-volume.ts'
export { failureLogs, keepFailureLogs, removeFailureLogs } from './failure-logs.ts'
export { acquireFence, liftFence, raiseFence } from './fence.ts'
export { type Proof, proveHealthy } from './prove-healthy.ts'
export type { Baseline, ChangeDeps } from './run.types.ts'
export { isAlive, startServices, stopAll, stopServices, stopWriters, waitForDatabase } from './services.ts'
