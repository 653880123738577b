// A saga: steps that run in order, survive a kill between any two journal entries, and are compensated after a failure.
// Decides the next step from the saga's definition, its journal and what was observed. Pure: it never acts, waits or reads a clock,
// and knows neither boxes nor hosts. Decision 0015 describes the API.
export { nextStep, type SagaNext, type SagaOutcome } from './next-step.ts'
export {
  type EndStep,
  type ForwardStep,
  foldSaga,
  isCommitted,
  type Saga,
  type SagaEntry,
  type SagaError,
  type SagaFacts,
} from './saga.ts'
