import { type EndStep, type ForwardStep, isCommitted, type Saga, type SagaEntry, type SagaError, type SagaFacts } from '../saga/index.ts'
import { type ChangeWorld, composeChanged, foreignFence, quarantineOf } from './change-saga.ts'
import type { UpdateOutcome, UpdateStep } from './command-parts.ts'
import type { BoxCommandPayload } from './commands.ts'

// Invariants: nothing is recreated before its snapshot is complete. Nothing is restored after the commit, nor once users may have been on the
// new version. The fence is lifted only after a commit, after a good probe where the mode says so, after a failure that touched nothing, or
// after a rollback that proved healthy. It is left behind only where the rollback failed.

type FenceMode = BoxCommandPayload<'tenant-box.update'>['fence']['mode']
export type UpdateFacts = SagaFacts<UpdateStep>

export type UpdateWorld = ChangeWorld &
  Readonly<{
    /** Synapse runs. */
    serving: boolean
    compose: 'former' | 'target' | 'other'
  }>

type Forward = ForwardStep<UpdateStep, UpdateWorld>
type End = EndStep<UpdateStep, UpdateWorld>

/** From here on containers or data may differ from before, and only a restore from the snapshot leads back. */
export const isTouched = ({ begun }: Pick<UpdateFacts, 'begun'>): boolean => begun.has('recreate')

/** True if users may be on the new version before it is proven: recorded before the fence is lifted or the chat server starts. */
export function isOpened(entries: readonly SagaEntry[]): boolean {
  let wasGood = false
  for (const { step, mark } of entries) {
    if (mark === 'failed' && step !== 'unfence') return false
    if (step === 'first-ok' && mark === 'done') wasGood = true
    if (mark === 'intent' && (step === 'serve' || (step === 'unfence' && wasGood))) return true
  }
  return false
}

/** The update failed with users on the new version. A rollback would lose what they write, so a person decides. */
export const isLeftOpen = ({ entries, failure, done }: UpdateFacts): boolean => failure !== null && !done.has('commit') && isOpened(entries)

const untilSnapshot: readonly Forward[] = [
  // A server that runs again may have written after the dump: stop it and take the snapshot again.
  { name: 'stop', holds: (facts, { quiet }) => isTouched(facts) || quiet },
  { name: 'snapshot' },
  // Journals of older agents have no cold copy.
  { name: 'cold-copy', isPast: ({ begun }) => begun.has('rewrite') },
  { name: 'rewrite' },
  { name: 'recreate' },
]
const fence: Forward = { name: 'fence', holds: (facts, world) => isTouched(facts) || world.fence === 'ours' }
const openEarly: Forward = {
  name: 'unfence',
  holds: (_, world) => world.fence !== 'ours',
  isRetried: true,
  // Until the fence is gone everything can be rolled back, as if the good probe had not been.
  refusedAs: ({ entries }) => (isOpened(entries) ? null : 'first-ok'),
}

/** Without a fence, starting the chat server is what opens the box: it is a step of its own. */
const stepsOf: Readonly<Record<FenceMode, readonly Forward[]>> = {
  'until-stable': [{ name: 'prefetch' }, fence, ...untilSnapshot, { name: 'probe' }, { name: 'commit' }],
  'until-first-ok': [{ name: 'prefetch' }, fence, ...untilSnapshot, { name: 'first-ok' }, openEarly, { name: 'probe' }, { name: 'commit' }],
  none: [{ name: 'prefetch' }, ...untilSnapshot, { name: 'serve' }, { name: 'probe' }, { name: 'commit' }],
}

const unfence: End = { name: 'unfence', isComplete: (world) => world.fence !== 'ours' }
const restores = (facts: UpdateFacts): boolean => isTouched(facts) && !isLeftOpen(facts)
const restarts = (facts: UpdateFacts): boolean => facts.begun.has('stop') && !isLeftOpen(facts)

const compensation: readonly End[] = [
  { name: 'restore-stop', when: restores, maxFailures: 3 },
  { name: 'restore-data', when: restores, maxFailures: 3 },
  { name: 'restore-start', when: restarts, maxFailures: 3 },
  // The probe waits long enough by itself.
  { name: 'restore-probe', when: restarts, maxFailures: 1 },
  unfence,
]

/** The guarded update. */
export const updateSaga = (mode: FenceMode): Saga<UpdateStep, UpdateWorld> => ({
  name: 'update',
  steps: stepsOf[mode],
  finish: [unfence],
  compensation,
  quarantine: quarantineOf('fence', 'restore-stop'),
  guard,
  compensationGuard: (facts, world) => compensationGuard(mode, facts, world),
  fixedFrom: 'recreate',
  // Without a fence the stop is the first thing that users notice.
  mustFinishFrom: ['fence', 'stop'],
  codes: { neverHolds: 'UPDATE_FAILED', timedOut: 'RESTORE_FAILED' },
})

function guard(facts: UpdateFacts, world: UpdateWorld): SagaError | undefined {
  if (world.fence === 'other' && !isOpened(facts.entries)) return foreignFence
  return world.compose === 'other' && facts.done.has('prefetch') ? composeChanged('update') : undefined
}

const decides = 'so a restore could lose messages; an operator must decide'
const fenceLifted = `the fence was lifted by hand before the update committed, ${decides}`
const serverStarted = `the chat server was started by hand before the update committed, ${decides}`

function compensationGuard(mode: FenceMode, facts: UpdateFacts, world: UpdateWorld) {
  if (isLeftOpen(facts) || !isTouched(facts) || facts.done.has('restore-probe')) return undefined
  // Without a fence, a stopped server is all that kept users from writing. Once the data are restored nothing can be lost.
  const unsafe = mode === 'none' ? world.serving && !facts.done.has('restore-data') : world.fence !== 'ours'
  if (!unsafe) return undefined
  return { step: 'restore-stop', error: { code: 'RESTORE_FAILED', message: mode === 'none' ? serverStarted : fenceLifted } } as const
}

/** How an update ended, once no step is left. */
export function updateOutcome(facts: UpdateFacts): UpdateOutcome {
  if (isCommitted({ steps: stepsOf['until-stable'] }, facts)) return 'committed'
  if (isLeftOpen(facts)) return 'failed'
  if (facts.abandoned) return 'rollback_failed'
  return isTouched(facts) ? 'rolled_back' : 'failed'
}
