// Snapshots of boxes in a restic repository per tenant: made, found again, written back.
// It never prunes or forgets (that is the daemon's, with a credential that agents lack) and decides neither when nor of what to take one.
// Passwords go through stdin, store credentials through the child's own environment; neither is in an argument or on disk.
export { resticSnapshots } from './restic-snapshots.ts'
