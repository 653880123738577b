// Snapshots of boxes in a restic repository per tenant: made, found again, written back.
// It decides neither when nor of what to take one, nor which may go: it forgets what it is told by full ids.
export { resticSnapshots } from './restic-snapshots.ts'
