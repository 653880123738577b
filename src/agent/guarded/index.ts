// What every guarded change of a box is made of: a run whose memory is the journal, the loop that observes, plans and does one step at a
// time, the fence, stopping and starting in the right order, the compose file's exchange, images, and the proof of health.
// Core plans, the rooms of the changes (update, restore) say what their steps do. Nothing in here decides what is next or what is kept.
export { bringImage, keepImage, letImagesGo } from './bring-image.ts'
export { composeBackup, findComposeBackup, readComposeText, replaceCompose } from './compose-exchange.ts'
export { type DriveRules, drive } from './drive.ts'
export { liftFence, raiseFence, takeOverFence } from './fence.ts'
export { type Baseline, type GuardedNeeds, patiently, type Run, startGuardedRun } from './guarded-run.ts'
export { eventsOf, evidenceOf, fencedMs, probesOf } from './journal-lines.ts'
export { lookAtBox } from './look-at-box.ts'
export { needMounted } from './need-mounted.ts'
export { proveHealthy } from './prove-healthy.ts'
export { startServices, waitForDatabase } from './start-services.ts'
export { isAlive, stopServices } from './stop-services.ts'
