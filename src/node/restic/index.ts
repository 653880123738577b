// restic for both programs: the agent takes and restores snapshots; a program with delete credentials maintains repositories.
// Each run has its own environment, and its output becomes a result or a problem. Passwords go through stdin or an unnamed in-memory file,
// store credentials through the environment, never through arguments.
// Never decides what is retained or when anything runs.

export { maintainRepository, type RepositoryMaintenance, resticMaintenance, type Tending } from './maintain-repository.ts'
export type { ArchiveTags, OnWaiting, Repository, SnapshotFacts, StoredSnapshot } from './repository.ts'
export { archiveTags, baseFilesTags, commandTag, missingPath, readCurrentKey, readSnapshots, readSummary, tagsOf } from './restic-output.ts'
export { resticProblem } from './restic-problem.ts'
export {
  type Ended,
  type ResticOptions,
  type Run,
  resticVersion,
  runRestic,
  runWaiting,
  searchPath,
  storeTimeoutOf,
} from './run-restic.ts'
export { verifySnapshot } from './verify-snapshot.ts'
