// The guarded update of one box: images brought in time, fence, stop, snapshot, rewrite, recreate, probe, commit, or the whole way back.
// Core plans (`planUpdate`), this room observes and does; every step can be done again after a kill at any point.
// The daemon is asked for nothing but the snapshot password, before the fence. It never restores after a commit and never lifts a fence
// that another raised.
export type { ChangeDeps as UpdateDeps } from '../change/index.ts'
export { imageRemovals } from './image-removals.ts'
export { prefetch } from './prefetch.ts'
export { type UpdateSteps, updateSteps } from './steps.ts'
export { imageSweeper } from './sweep-images.ts'
export { pinSweeper } from './sweep-pins.ts'
export { sweepWork } from './sweep-work.ts'
export { update } from './update.ts'
