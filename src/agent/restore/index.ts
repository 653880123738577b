// The restore of a box on its own host: its snapshot brought and checked while it serves, fence, stop, a snapshot of what is there now, the
// database loaded into new volumes, one switch to them, probe, commit, or all of it back. Core plans (`planRestore`), this room does.
// It decides nothing, touches no volume that the box had, and after the commit it never goes back.
export type { ChangeDeps as RestoreDeps } from '../change/index.ts'
export { restore } from './restore.ts'
export { type RestoreSteps, restoreStepsOfBox } from './steps.ts'
