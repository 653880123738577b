// restic as both programs use it: the agent takes and restores, and whoever holds a credential that may delete looks after a repository.
// One run at a time in an environment of its own; what it says becomes a Problem or a result. It decides nothing: not what is kept, not when.
// Passwords go through stdin or a file without a name in memory, store credentials through the child's environment; neither is in an argument.
export type { Repository, SnapshotFacts, StoredSnapshot } from './repository.ts'
export { type RepositoryCare, resticCare } from './repository-care.ts'
export { commandTag, missingPath, readSnapshots, readSummary, tagsOf } from './restic-output.ts'
export { resticProblem } from './restic-problem.ts'
export { resticVersion, searchPath } from './restic-version.ts'
export { type Ended, type ResticOptions, type Run, runRestic, runWaiting, storeTimeoutOf } from './run-restic.ts'
export { type Tending, tendRepository } from './tend-repository.ts'
