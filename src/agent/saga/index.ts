// Runs a saga that core decides (`core/saga`), with its journal on the agent's disk: intent written, world observed, act, outcome written.
// After a kill the next agent continues from the journal. It knows no step by name, decides nothing, and records the failure of a step
// instead of throwing it.

export { retry, withRemark } from './retry.ts'
export { type EndedCommand, resultOrThrow, runOnce } from './run-once.ts'
export { type EndedSaga, runBoxSaga, runSaga, type SagaActs, type StepContext } from './run-saga.ts'
export { openSagaLog, resultIn, type SagaLog } from './saga-log.ts'
