import type { EndStep, ForwardStep, Saga, SagaError, SagaFacts } from '../saga/index.ts'
import { type ChangeWorld, composeChanged, foreignFence, quarantineOf } from './change-saga.ts'
import type { RestoreOutcome } from './command-parts.ts'

// Invariants: nothing is switched before the snapshot of the present box is complete. The former volumes and files stay until the commit, so
// that a restore can be rolled back; after the commit it never is. The fence is lifted only after a commit, after a failure that touched
// nothing, or after a rollback that proved healthy. Once the box served restored data without our fence, nothing is rolled back automatically.

/** The steps in their order; the four `back-` ones only in a rollback. */
export const restoreSteps = [
  ...(['fetch', 'fence', 'stop', 'keep', 'load', 'switch', 'start', 'probe', 'commit'] as const),
  ...(['back-stop', 'back-switch', 'back-start', 'back-probe'] as const),
  'unfence',
] as const
export type RestoreStep = (typeof restoreSteps)[number]
export type RestoreFacts = SagaFacts<RestoreStep>

export type RestoreWorld = ChangeWorld &
  Readonly<{
    /** The box was in quarantine when this restore began: there is no healthy state to roll back to. */
    quarantined: boolean
    compose: 'former' | 'restored' | 'other'
  }>

/** From here on the box may serve restored data. */
const isStarted = ({ begun }: RestoreFacts): boolean => begun.has('start')

const steps: readonly ForwardStep<RestoreStep, RestoreWorld>[] = [
  { name: 'fetch' },
  { name: 'fence', holds: (facts, { fence }) => isStarted(facts) || fence === 'ours' },
  // A server that runs again may have written after the snapshot: stop it and take the snapshot again.
  { name: 'stop', holds: (facts, { quiet }) => isStarted(facts) || quiet },
  { name: 'keep' },
  { name: 'load' },
  { name: 'switch' },
  { name: 'start' },
  { name: 'probe' },
  { name: 'commit' },
]

const unfence: EndStep<RestoreStep, RestoreWorld> = { name: 'unfence', isComplete: ({ fence }) => fence !== 'ours' }
const isStopped = ({ begun }: RestoreFacts): boolean => begun.has('stop')

/** The restore of a box on its own host. */
export const restoreSaga: Saga<RestoreStep, RestoreWorld> = {
  name: 'restore',
  steps,
  finish: [unfence],
  compensation: [
    { name: 'back-stop', when: isStopped, maxFailures: 3 },
    { name: 'back-switch', when: isStopped, maxFailures: 3 },
    { name: 'back-start', when: isStopped, maxFailures: 3 },
    // The probe waits long enough by itself.
    { name: 'back-probe', when: isStopped, maxFailures: 1 },
    unfence,
  ],
  quarantine: quarantineOf('fence', 'back-stop'),
  guard,
  compensationGuard,
  fixedFrom: 'start',
  mustFinishFrom: ['fence'],
  codes: { neverHolds: 'RESTORE_FAILED', timedOut: 'RESTORE_FAILED' },
}

function guard(facts: RestoreFacts, world: RestoreWorld): SagaError | undefined {
  if (world.fence === 'other' && !world.quarantined) return foreignFence
  return world.compose === 'other' && facts.done.has('fetch') ? composeChanged('restore') : undefined
}

const fenceLifted: SagaError = {
  code: 'RESTORE_FAILED',
  message: 'the fence was lifted by hand before the restore committed, so a rollback could lose messages; an operator must decide',
}
const wasQuarantined: SagaError = {
  code: 'RESTORE_FAILED',
  message: 'the box was in quarantine before, so there is no healthy state to roll back to; it is in quarantine again',
}

function compensationGuard(facts: RestoreFacts, world: RestoreWorld) {
  if (!facts.begun.has('fence') || facts.done.has('back-probe')) return undefined
  if (world.quarantined) return { step: 'back-stop', error: wasQuarantined } as const
  const mayHaveServed = isStarted(facts) && !facts.done.has('back-switch')
  return mayHaveServed && world.fence !== 'ours' ? ({ step: 'back-stop', error: fenceLifted } as const) : undefined
}

/** How a restore ended, once no step is left. */
export function restoreOutcome(facts: RestoreFacts): RestoreOutcome {
  if (facts.done.has('commit')) return 'restored'
  return facts.abandoned ? 'restore_failed' : 'failed'
}
