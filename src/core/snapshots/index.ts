// What a snapshot is to an operator, how long each is kept, and whose turn it is to be taken, tended or proven.
// It decides which snapshots may go; it never takes, restores or deletes one, and no clock may make it give up what somebody needs.
export { Snapshot, SnapshotStatus, snapshotsContract } from './contract.ts'
export { evaluateRetention, type RetainedSnapshot, type RetentionRule, type RetentionVerdict } from './retention.ts'
export { type DrillCandidate, dueDrills, nextTasks, SnapshotTask, type WaitingTask } from './schedule.ts'
export { readStoreAddress, type StoreAddress, sessionsAddressError } from './store-address.ts'
