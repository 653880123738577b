// restic as both programs use it: the agent takes and restores, and whoever holds a credential that may delete looks after a repository.
// One run at a time in an environment of its own; what it says becomes a Problem or a result. It decides nothing: not what is kept, not when.
// Passwords go through stdin or a file without a name in memory, store credentials through the child's environment; neither is in an argument.

export { type RepositoryCare, resticCare, type Tending, tendRepository } from './maintain-repository.ts'
export type { Repository, SnapshotFacts, StoredSnapshot } from './repository.ts'
export { commandTag, missingPath, readSnapshots, readSummary, tagsOf } from './restic-output.ts'
export { resticProblem } from './restic-problem.ts'
export { type Ended, type ResticOptions, type Run, resticVersion, runRestic, runWaiting, searchPath, storeTimeoutOf } from './run-restic.ts'
