import type { BoxCommandKind, BoxCommandPayload } from '../../../core/boxes/index.ts'
import { isoNow, spanMs } from '../../../core/kit/index.ts'
import { type CommandStep, isInFlight } from '../../../core/rollouts/index.ts'
import { holdLease, type Lease } from '../../db/index.ts'
import { enqueueCommand } from '../../hosts/index.ts'
import { actionBySlug, type StoredAction } from '../actions.repo.ts'
import type { RolloutsDeps } from '../deps.ts'
import type { RolloutTx } from '../publish.ts'
import { lockRollout } from '../rollouts.repo.ts'

/** A rollout that this replica drives, for as long as it owns the lease. */
export type LeasedRollout = Readonly<{ deps: RolloutsDeps; lease: Lease; rolloutId: string }>

/** The action for which a step queued a command; undefined where it queued none. */
export type Queued = StoredAction | undefined

/** The transaction of one step. */
export type EngineTx = RolloutTx & Readonly<{ deps: RolloutsDeps }>

/** The transaction of one step of one box. */
export type ActionTx = EngineTx & Readonly<{ action: StoredAction }>

/**
 * Runs one step of a rollout as one transaction. It locks the lease first, so no other replica takes over before the commit, then the
 * rollout. The agent and the followers are notified after the commit. Throws LEASE_LOST when another replica took over.
 */
export async function underLease({ deps, lease, rolloutId }: LeasedRollout, write: (step: EngineTx) => Promise<Queued>): Promise<void> {
  const queued = await deps.db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    return write({ tx, clock: deps.clock, deps, rollout: await lockRollout(tx, rolloutId) })
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
