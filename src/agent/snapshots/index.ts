// Snapshots of boxes in one restic repository per tenant: takes, finds and restores them.
// It decides neither when nor of what to take one, nor which to remove: it removes exactly the given full ids.
export { resticSnapshots } from './restic-snapshots.ts'
