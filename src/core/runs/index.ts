// Runs of flow boards: the contract, and who may start, read and advance a run.
// The steps of a run are decided in core/boards. It stores nothing.

export { hasEnded } from '../boards/index.ts'
export { type RunDetail, type RunSummary, runsContract, type StartableBoard } from './contract.ts'
export { maxBulk, type OperatorRun, type OperatorRunDetail, operatorRunsContract } from './operator-contract.ts'
export { canRetry, hasPart, mayActOn, type Readers, readsRuns, retryableCodes, withReaders } from './rules.ts'
