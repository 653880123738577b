import type { BoxCommandKind, BoxCommandPayload, BoxId } from '../../../core/boxes/index.ts'
import { isoIn, isoNow, isProblem, spanMs } from '../../../core/kit/index.ts'
import { type ActionError, type CommandStep, isInFlight, type KnownBox } from '../../../core/rollouts/index.ts'
import { inTrace } from '../../../node/index.ts'
import { holdBox, releaseHold } from '../../boxes/index.ts'
import { holdLease, type Lease } from '../../db/index.ts'
import { enqueueCommand } from '../../hosts/index.ts'
import { actionBySlug, type StoredAction } from '../actions.repo.ts'
import type { RolloutsDeps } from '../deps.ts'
import { type RolloutTx, streamOf } from '../publish.ts'
import { lockRollout, traceOf } from '../rollouts.repo.ts'

/** A rollout that this replica drives, for as long as it owns the lease. */
export type LeasedRollout = Readonly<{ deps: RolloutsDeps; lease: Lease; rolloutId: string }>

/** The action for which a step queued a command; undefined where it queued none. */
type Queued = StoredAction | undefined

/** The transaction of one step. */
export type EngineTx = RolloutTx & Readonly<{ deps: RolloutsDeps }>

/** A box of a rollout in a transaction that has locked the rollout. */
export type LockedAction = RolloutTx & Readonly<{ action: StoredAction }>

/** The transaction of one step of one box. */
export type ActionTx = EngineTx & Readonly<{ action: StoredAction }>

/**
 * Runs one step of a rollout as one transaction. It locks the lease first, so no other replica takes over before the commit, then the
 * rollout. The agent and the followers are notified after the commit. Throws LEASE_LOST when another replica took over.
 */
export async function underLease({ deps, lease, rolloutId }: LeasedRollout, write: (step: EngineTx) => Promise<Queued>): Promise<void> {
  const queued = await deps.db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    const rollout = await lockRollout(tx, rolloutId)
    const trace = deps.tracing && (await traceOf(tx, rolloutId))
    return inTrace(deps.tracing, trace, () => write({ tx, clock: deps.clock, deps, rollout }))
  })
  if (queued) deps.bus.queued(queued.hostId)
  deps.rolloutBus.changed(rolloutId)
}

/** A step of one box, with its action as it is now. */
export const onAction = (leased: LeasedRollout, slug: string, write: (step: ActionTx) => Promise<Queued>): Promise<void> =>
  underLease(leased, async (step) => write({ ...step, action: await actionBySlug(step.tx, leased.rolloutId, slug) }))

/** A command and the box it was sent for. */
export type CommandOf = Readonly<{ slug: string; commandId: string }>

/** A step that follows from a command. Nothing happens where the action no longer waits for that command. */
export const onCommand = (
  leased: LeasedRollout,
  { slug, commandId }: CommandOf,
  write: (step: ActionTx) => Promise<Queued>,
): Promise<void> =>
  onAction(leased, slug, async (step) => {
    const { status, commandId: awaited } = step.action
    return isInFlight(status) && awaited === commandId ? write(step) : undefined
  })

/** The time left; all commands of an attempt share one deadline. */
export const remainingMs = ({ clock, settings }: RolloutsDeps, { startedAt }: StoredAction): number =>
  Math.max(1, settings.actionDeadlineMs - (startedAt === null ? 0 : spanMs(startedAt, isoNow(clock))))

/** Derived from its parts: queuing a command of an attempt twice queues it once. */
export const commandIdOf = ({ rolloutId, tenantSlug, attempt }: StoredAction, step: CommandStep): string =>
  `${rolloutId}.${tenantSlug}.${attempt}.${step}`

type Order<Kind extends BoxCommandKind> = Readonly<{ step: CommandStep; kind: Kind; payload: BoxCommandPayload<Kind>; deadlineMs: number }>

/** Queues the next command of an attempt in the transaction of the step. Answers the action as it waits for that command, not yet stored. */
export async function queueCommand<Kind extends BoxCommandKind>(
  { tx, clock, action }: Pick<ActionTx, 'tx' | 'clock' | 'action'>,
  { step, kind, payload, deadlineMs }: Order<Kind>,
): Promise<StoredAction> {
  const id = commandIdOf(action, step)
  await enqueueCommand(tx, clock, { id, hostId: action.hostId, boxId: action.boxId, kind, payload, deadlineMs })
  return { ...action, step, commandId: id }
}

/** Beyond the deadline of the action: its update may still run until the agent reports the end. */
const holdMarginMs = 24 * 60 * 60_000

/** Takes or extends the hold of a box for the rollout. Answers false if another owner holds the box. */
export async function holdForRollout({ tx, clock, deps, rollout }: EngineTx, boxId: string): Promise<boolean> {
  const until = isoIn(clock, deps.settings.actionDeadlineMs + holdMarginMs)
  try {
    await holdBox(tx, clock, { boxId: boxId as BoxId, holder: streamOf(rollout.id), until })
    return true
  } catch (error) {
    if (!isProblem(error, 'BOX_HELD')) throw error
    return false
  }
}

/**
 * Extends the hold before the box is stopped. Answers an error where the rollout no longer owns it: after a forced release, or after
 * the hold expired, another rollout may have changed the box since its preflight, also where no one holds it now.
 */
export async function extendHold(step: EngineTx, { slug, boxId }: Pick<KnownBox, 'slug' | 'boxId'>): Promise<ActionError | undefined> {
  const hold = await step.tx.selectFrom('box_holds').select('holder').where('box_id', '=', boxId).executeTakeFirst()
  if (!hold) return lostHold(`the hold of ${slug} was released after its preflight, so the box may have changed since`)
  if (hold.holder === streamOf(step.rollout.id) && (await holdForRollout(step, boxId))) return undefined
  return lostHold(`${slug} is on hold for ${hold.holder.replace(':', ' ')} now`)
}

const lostHold = (reason: string): ActionError => ({
  code: 'BOX_HELD',
  message: `${reason}. Nothing was stopped. Retry when the box is free`,
})

/** Releases the hold if the rollout still owns it. */
export const releaseBox = ({ tx, rollout, action }: LockedAction): Promise<void> =>
  releaseHold(tx, { boxId: action.boxId as BoxId, holder: streamOf(rollout.id) })
