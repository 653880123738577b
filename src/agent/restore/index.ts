// The restore of a box on its own host: its snapshot is fetched and verified while the box serves; then fence, stop, a snapshot of the present
// box, load into new volumes, one switch, probe, commit, or a complete rollback. Core decides the next step (`restoreSaga`).
// It touches no former volume, and after the commit it never rolls back.
export type { ChangeDeps as RestoreDeps } from '../change/index.ts'
export { type RestoreSteps, restore, restoreStepsOfBox } from './restore.ts'
