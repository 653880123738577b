import type { BoxCommandKind, BoxCommandPayload } from '../../../core/boxes/index.ts'
import { isoNow, spanMs } from '../../../core/kit/index.ts'
import { type CommandStep, isInFlight } from '../../../core/rollouts/index.ts'
import { holdLease, type Lease, type Tx } from '../../db/index.ts'
import { enqueueCommand } from '../../hosts/index.ts'
import { actionBySlug, type StoredAction } from '../actions.repo.ts'
import { readAhead } from '../actions-ahead.repo.ts'
import type { RolloutsDeps } from '../deps.ts'
import { lockRollout, type StoredRollout } from '../rollouts.repo.ts'
import { toldAtEnd } from '../tell.ts'
import { readBoxesAhead } from './box-asked.repo.ts'
import { keptForEnd, writtenAtEnd } from './written-at-end.ts'

/** A rollout in the hands of this replica, for as long as the lease is its own; `tx`: several steps are taken in one transaction. */
export type Owned = Readonly<{ deps: RolloutsDeps; lease: Lease; rolloutId: string; tx?: Tx }>

/** The action with the command that was queued for it; undefined where a step queued none. */
export type Sent = StoredAction | undefined

/** Every write of the engine: under its lease, with the rollout locked. Throws LEASE_LOST when another replica took over. */
export async function asOwner(owned: Owned, write: (tx: Tx, rollout: StoredRollout) => Promise<Sent>): Promise<Sent> {
  const { tx, rolloutId } = owned
  if (tx) return write(tx, await lockRollout(tx, rolloutId))
  const [sent] = await together(owned, [(within) => asOwner(within, write)])
  return sent
}

/** In the transaction of several steps. */
export type Within = Owned & Readonly<{ tx: Tx }>

type Write = (within: Within) => Promise<Sent>
/** What follows from all of them at once. */
type Last = (within: Within) => Promise<readonly Sent[]>

/** The slugs of what is looked at: actions, and the boxes of some of them. */
type Ahead = Readonly<{ actions: readonly string[]; boxes: readonly string[] }>

/** All of it or nothing: one commit for what is done in the same moment. Whoever waits for it is told afterwards. */
export async function together(
  owned: Owned,
  writes: readonly Write[],
  ahead: Ahead = { actions: [], boxes: [] },
  last?: Last,
): Promise<Sent[]> {
  const { deps, lease, rolloutId } = owned
  const all = await deps.db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    await lockRollout(tx, rolloutId)
    await readAhead(tx, rolloutId, ahead.actions)
    await readBoxesAhead(tx, ahead.boxes)
    const work = () => inTurn({ ...owned, tx }, writes, last)
    return toldAtEnd(tx, rolloutId, () => (writes.length > 1 || last ? writtenAtEnd(tx, deps.clock, work) : work()))
  })
  for (const sent of all) if (sent) deps.bus.queued(sent.hostId)
  deps.rolloutBus.changed(rolloutId)
  return all
}

async function inTurn(within: Within, writes: readonly Write[], last?: Last): Promise<Sent[]> {
  const done: Sent[] = []
  for (const write of writes) done.push(await write(within))
  return last ? [...done, ...(await last(within))] : done
}

/** The action if it still waits for that command; undefined when what was decided about it is no longer true. */
export async function awaiting(tx: Tx, rolloutId: string, slug: string, commandId: string): Promise<StoredAction | undefined> {
  const action = await actionBySlug(tx, rolloutId, slug)
  return isInFlight(action.status) && action.commandId === commandId ? action : undefined
}

/** What is left of the time that all steps of an attempt have together. */
export const leftMs = ({ clock, settings }: RolloutsDeps, { startedAt }: StoredAction): number =>
  Math.max(1, settings.actionDeadlineMs - (startedAt === null ? 0 : spanMs(startedAt, isoNow(clock))))

/** Told by its parts: queuing a step of an attempt twice queues it once. */
export const commandIdOf = ({ rolloutId, tenantSlug, attempt }: StoredAction, step: CommandStep): string =>
  `${rolloutId}.${tenantSlug}.${attempt}.${step}`

type Order<Kind extends BoxCommandKind> = Readonly<{ step: CommandStep; kind: Kind; payload: BoxCommandPayload<Kind>; deadlineMs: number }>

/** Queues the next command of an attempt, in the transaction that notes that it is under way: neither exists without the other. */
export async function send<Kind extends BoxCommandKind>(
  tx: Tx,
  { clock }: RolloutsDeps,
  action: StoredAction,
  { step, kind, payload, deadlineMs }: Order<Kind>,
): Promise<StoredAction> {
  const id = commandIdOf(action, step)
  const command = { id, hostId: action.hostId, boxId: action.boxId, kind, payload, deadlineMs }
  if (!keptForEnd(tx)?.commands.push(command)) await enqueueCommand(tx, clock, command)
  return { ...action, step, commandId: id }
}
