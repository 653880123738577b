import { type EndStep, type ForwardStep, isCommitted, type Saga, type SagaEntry, type SagaError, type SagaFacts } from '../saga/index.ts'
import { type ChangeWorld, composeChanged, foreignFence, quarantineOf } from './change-saga.ts'
import type { ImageRollback, UpdateOutcome, UpdateStep } from './command-parts.ts'
import type { FenceMode, FenceOrder, SnapshotMode } from './fences.ts'

// Invariants: nothing is recreated before its snapshot is complete, or with `hot` before a completed copy of the stopped database is on
// the host; nothing is committed without a snapshot in the store. No data is restored after the commit, nor once users may have been on the
// new version: then the only rollback is one by images, which keeps all data, and only where that is proven. The fence is lifted only after a
// commit, after the quick probes where the mode says so and such a rollback is proven (or an operator chose the mode), after a failure that
// touched nothing, or after a rollback that proved healthy. It is left behind only where the rollback failed.
// Another major version of PostgreSQL never runs on the former volume: it gets one of its own, loaded and compared, and a rollback takes the
// former one again.

export type UpdateFacts = SagaFacts<UpdateStep>

export type UpdateWorld = ChangeWorld &
  Readonly<{
    /** Synapse runs. */
    serving: boolean
    compose: 'former' | 'target' | 'other'
    /** The server still keeps the write-ahead log for the hot copy. Absent: it does. */
    isLogKept?: boolean
  }>

type Forward = ForwardStep<UpdateStep, UpdateWorld>
type End = EndStep<UpdateStep, UpdateWorld>

/** From here on containers or data may differ from before. */
export const isTouched = ({ begun }: Pick<UpdateFacts, 'begun'>): boolean => begun.has('recreate')

/** True if users may be on the new version before it is proven stable: recorded before the fence is lifted or the chat server starts. */
export function isOpened(entries: readonly SagaEntry[]): boolean {
  let wasGood = false
  for (const { step, mark } of entries) {
    if (mark === 'failed' && step !== 'unfence') return false
    if (step === 'quick-probe' && mark === 'done') wasGood = true
    if (mark === 'intent' && (step === 'serve' || (step === 'unfence' && wasGood))) return true
  }
  return false
}

const checkIn = (entries: readonly SagaEntry[], step: UpdateStep): ImageRollback | undefined =>
  entries.findLast((entry) => entry.step === step && entry.mark === 'done')?.data as ImageRollback | undefined

/** The result of the check before the box was opened. */
export const canRollBackByImages = ({ entries }: Pick<UpdateFacts, 'entries'>): ImageRollback | undefined =>
  checkIn(entries, 'check-rollback')

/** The update failed with users on the new version, and a rollback by images was confirmed: it keeps all data. */
export const isRolledBackByImages = ({ entries }: Pick<UpdateFacts, 'entries'>): boolean =>
  checkIn(entries, 'confirm-rollback')?.possible === true

const isOpenFailure = ({ entries, failure, done }: UpdateFacts): boolean => failure !== null && !done.has('commit') && isOpened(entries)

/** The update failed with users on the new version, and no rollback keeps what they wrote: a person decides. */
export const isLeftOpen = (facts: UpdateFacts): boolean => isOpenFailure(facts) && !isRolledBackByImages(facts)

const copyIn = (entries: readonly SagaEntry[], step: 'hot-copy' | 'cold-copy') =>
  entries.findLast((entry) => entry.step === step && entry.mark === 'done')?.data as { skipped?: string } | undefined
const wasSkipped = (entries: readonly SagaEntry[], step: 'hot-copy' | 'cold-copy'): boolean => copyIn(entries, step)?.skipped !== undefined

/** True if the stopped database was copied on the host. */
export const hasColdCopy = ({ entries }: Pick<UpdateFacts, 'entries'>): boolean =>
  copyIn(entries, 'cold-copy') !== undefined && !wasSkipped(entries, 'cold-copy')

// A server that runs again may have written after the copy or the dump: stop it and take both again.
const stop: Forward = { name: 'stop', holds: (facts, { quiet }) => isTouched(facts) || quiet }

const untilRecreated: Readonly<Record<SnapshotMode, readonly Forward[]>> = {
  before: [stop, { name: 'snapshot' }, { name: 'cold-copy', isPast: ({ begun }) => begun.has('rewrite') }],
  // Without a copy the snapshot is taken as with `before`.
  hot: [stop, { name: 'cold-copy' }, { name: 'snapshot', isPast: hasColdCopy }],
}
export const snapshotModeOf = ({ snapshot = 'before' }: Pick<FenceOrder, 'snapshot'>): SnapshotMode => snapshot

/** The new version gets a volume of its own, so the former one stays as it is. */
const changesOf = ({ upgrade }: FenceOrder): readonly Forward[] => [
  ...(upgrade ? [{ name: 'upgrade' } as const] : []),
  { name: 'rewrite' },
  { name: 'recreate' },
]
const fence: Forward = { name: 'fence', holds: (facts, world) => isTouched(facts) || world.fence === 'ours' }

/** Where no rollback by images is proven, the box stays fenced until it is stable. */
const openEarly = ({ isForced = false }: FenceOrder): Forward => ({
  name: 'unfence',
  holds: (_, world) => world.fence !== 'ours',
  isPast: (facts) => !isForced && canRollBackByImages(facts)?.possible === false && !isOpened(facts.entries),
  isRetried: true,
  // Until the fence is gone everything can be rolled back, as if the good probes had not been.
  refusedAs: ({ entries }) => (isOpened(entries) ? null : 'quick-probe'),
})

const [prefetch, probe, commit]: readonly [Forward, Forward, Forward] = [{ name: 'prefetch' }, { name: 'probe' }, { name: 'commit' }]

// The log is kept by a session that ends with the agent. While the box serves no user waits for another copy.
const hotCopy: Forward = {
  name: 'hot-copy',
  holds: ({ begun, entries }, { isLogKept = true }) =>
    isLogKept || begun.has('fence') || begun.has('stop') || wasSkipped(entries, 'hot-copy'),
  // An agent of a former version may have begun the update without one. The copy that it has made since is the only one of the former database.
  isPast: ({ begun }) => !begun.has('hot-copy') && (begun.has('fence') || begun.has('stop')),
}

const stepsOf = (order: FenceOrder): readonly Forward[] => {
  const snapshot = snapshotModeOf(order)
  const changed = [...untilRecreated[snapshot], ...changesOf(order)]
  const store: readonly Forward[] = snapshot === 'before' ? [] : [{ name: 'snapshot' }]
  const prepare: readonly Forward[] = snapshot === 'hot' ? [prefetch, hotCopy] : [prefetch]
  const byMode: Readonly<Record<FenceMode, readonly Forward[]>> = {
    'until-stable': [...prepare, fence, ...changed, ...store, { ...probe, isPast: isProvenClosed }, commit],
    'until-proven': [
      ...[...prepare, fence, ...changed],
      // An open box has been checked.
      ...[{ name: 'quick-probe', isPast: isOpenNow } as const, { name: 'check-rollback', isPast: isOpenNow } as const],
      ...[openEarly(order), ...store, { ...probe, isPast: isProvenClosed }, commit],
    ],
    // Without a fence, starting the chat server is what opens the box: it is a step of its own.
    none: [...prepare, ...changed, { name: 'serve' }, ...store, probe, commit],
  }
  return byMode[order.mode]
}

/** The slow probes ran while the box stayed fenced: until a rollback by images is possible, or beside the storing of the snapshot. */
export const isProvenClosed = (facts: UpdateFacts): boolean =>
  canRollBackByImages(facts)?.isStable === true || (facts.done.has('snapshot') && isStableIn(facts.entries))

const isStableIn = (entries: readonly SagaEntry[]): boolean =>
  (entries.findLast(({ step, mark }) => step === 'snapshot' && mark === 'done')?.data as { isStable?: true } | undefined)?.isStable === true

const isOpenNow = ({ entries }: UpdateFacts): boolean => isOpened(entries)

const unfence: End = { name: 'unfence', isComplete: (world) => world.fence !== 'ours' }
const restores = (facts: UpdateFacts): boolean => isTouched(facts) && !isOpenFailure(facts)
const stops = (facts: UpdateFacts): boolean => isTouched(facts) && !isLeftOpen(facts)
const restarts = (facts: UpdateFacts): boolean => facts.begun.has('stop') && !isLeftOpen(facts)

/** The last try of a restore may take another way than those before. */
export const maxRestoreFailures = 3

const compensationOf = ({ formerSchema }: FenceOrder): readonly End[] => [
  { name: 'confirm-rollback', when: (facts) => formerSchema !== undefined && isOpenFailure(facts) },
  {
    name: 'refence',
    when: (facts) => isOpenFailure(facts) && isRolledBackByImages(facts) && !facts.done.has('restore-probe'),
    isComplete: (world) => world.fence !== 'absent',
  },
  { name: 'restore-stop', when: stops, maxFailures: 3 },
  { name: 'restore-data', when: restores, maxFailures: maxRestoreFailures },
  { name: 'restore-start', when: restarts, maxFailures: 3 },
  // The probe waits long enough by itself.
  { name: 'restore-probe', when: restarts, maxFailures: 1 },
  unfence,
]

/** The guarded update. */
export const updateSaga = (order: FenceOrder): Saga<UpdateStep, UpdateWorld> => ({
  name: 'update',
  steps: stepsOf(order),
  finish: [unfence],
  compensation: compensationOf(order),
  quarantine: quarantineOf('fence', 'restore-stop'),
  guard,
  compensationGuard: (facts, world) => compensationGuard(order.mode, facts, world),
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
  // A rollback by images keeps the data, also with users on the box.
  if (isOpenFailure(facts) || !isTouched(facts) || facts.done.has('restore-probe')) return undefined
  // Without a fence, a stopped server is all that kept users from writing. Once the data are restored nothing can be lost.
  const unsafe = mode === 'none' ? world.serving && !facts.done.has('restore-data') : world.fence !== 'ours'
  if (!unsafe) return undefined
  return { step: 'restore-stop', error: { code: 'RESTORE_FAILED', message: mode === 'none' ? serverStarted : fenceLifted } } as const
}

/** How an update ended, once no step is left. */
export function updateOutcome(facts: UpdateFacts): UpdateOutcome {
  if (isCommitted({ steps: [commit] }, facts)) return 'committed'
  if (isLeftOpen(facts)) return 'failed'
  if (facts.abandoned) return 'rollback_failed'
  return isTouched(facts) ? 'rolled_back' : 'failed'
}
