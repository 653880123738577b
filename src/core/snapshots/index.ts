// The rules for snapshots: their contract, retention, the schedule of snapshot tasks, and addresses of the snapshot store.
// It decides which snapshots expire and which task runs next. It never takes, restores or deletes a snapshot.
// A referenced snapshot, the newest one and the last verified one never expire.
export {
  type Archive,
  type ArchiveChain,
  archiveRanges,
  chainTo,
  expiredParts,
  momentAt,
  partsInUse,
  readMoment,
} from './archive.ts'
export { type ProofSummary, Snapshot, SnapshotStatus, snapshotsContract } from './contract.ts'
export { hasFailedSinceProof, isGone } from './proof.ts'
export { completeSnapshots, evaluateRetention, type RetainedSnapshot, type RetentionRule, type RetentionVerdict } from './retention.ts'
export { type DrillCandidate, dueDrills, nextTasks, SnapshotTask, type WaitingTask } from './schedule.ts'
export { readStoreAddress, type StoreAddress, sessionsAddressError } from './store-address.ts'
