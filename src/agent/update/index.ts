// The guarded update of one box: prefetch, fence, stop, snapshot, rewrite, recreate, probe, commit, or a complete rollback; and the sweeps of
// what updates leave on a host. Core decides the next step (`updateSaga`); every step can be repeated after a kill at any point.
// After the fence is raised the update needs nothing from the daemon. It never restores after a commit and never lifts a foreign fence.
export type { ChangeDeps as UpdateDeps } from '../change/index.ts'
export { controlOf, dataFolderIn, stableControl } from './control-file.ts'
export { linkToOutside } from './copy-folder.ts'
export { copyRunningDatabase, defaultBytesPerSecond, paceOf, type RunningCopy, within } from './copy-running.ts'
export { sweepDumpServers } from './dump-server.ts'
export { copySegment, copySegments, segmentOf, segmentsBetween, startOfSegment } from './log-segments.ts'
export { prefetch } from './prefetch.ts'
export { imageRemovals, imageSweeper } from './sweep-images.ts'
export { formerDatabaseSweeper, pinSweeper, sweepCopies, sweepWork } from './sweep-leftovers.ts'
export { isUnusedSegment } from './unused-wal.ts'
export { type UpdateSteps, update, updateSteps } from './update.ts'
