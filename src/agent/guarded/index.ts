// What every guarded change of a box is made of: a run whose memory is the journal, the loop that observes, plans and does one step at a
// time, the fence, stopping and starting in the right order, the compose file's exchange, images, the proof of health, and its entry and end.
// Core plans, the rooms of the changes (update, restore) say what their steps do. Nothing in here decides what is next or what is kept.
export { carryOut } from './carry-out.ts'
export { clearUp, sumUpRun, whyEnded } from './close.ts'
export { composeBackup, formerCompose, putComposeBack, readComposeText, replaceCompose } from './compose-exchange.ts'
export { type DatabaseVolume, needDatabaseVolume, needMounted, upDatabaseOn } from './database-volume.ts'
export { liftFence, raiseFence, takeOverFence } from './fence.ts'
export { type Baseline, type GuardedDeps, leftBy, type Run } from './guarded-run.ts'
export { lookAtBox } from './look-at-box.ts'
export { proveHealthy } from './prove-healthy.ts'
export { startServices, waitForDatabase } from './start-services.ts'
export { isAlive, stopAll, stopWriters } from './stop-services.ts'
export { dropTries, volumeOfTry, volumesOfTries } from './tries.ts'
