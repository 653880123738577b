import type { EndStep, SagaError } from '../saga/index.ts'

// Shared by the sagas of an update and a restore: refusals of the next forward step, and the quarantine of a box whose rollback failed.

/** As observed on the host before every step. */
export type ChangeWorld = Readonly<{
  fence: 'absent' | 'ours' | 'other'
  /** Synapse and MinIO are stopped: nothing writes. */
  quiet: boolean
  /** PostgreSQL is stopped as well. */
  stopped: boolean
}>

export const foreignFence: SagaError = {
  code: 'BOX_HELD',
  message: 'another action has fenced the box. fix: read edge/fence/on in the folder of the box, end that action, then try again',
}

export const composeChanged = (what: string): SagaError => ({
  code: 'COMPOSE_INVALID',
  message: `the compose file was changed or deleted by hand during the ${what}. fix: check the file, then try again`,
})

const quarantineLimits = { maxFailures: 6, maxTries: 40 }

/** A box whose rollback failed stays fenced and stopped until an operator decides, also one that was updated without a fence. */
export const quarantineOf = <Step extends string>(fence: Step, stop: Step): readonly EndStep<Step, ChangeWorld>[] => [
  { name: fence, isComplete: (world) => world.fence !== 'absent', ...quarantineLimits },
  { name: stop, isComplete: (world) => world.stopped, ...quarantineLimits },
]
