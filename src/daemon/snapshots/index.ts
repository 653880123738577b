// Where each tenant's snapshots are and what opens them. The daemon takes none itself: agents do, with what this room gives them.
// No password is ever stored; each is derived from the backup key when it is asked for.
export { commandSecrets, requireSnapshots, snapshotRepository } from './snapshot-store.ts'
