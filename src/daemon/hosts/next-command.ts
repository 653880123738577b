import { sql } from 'kysely'
import { isNonBlocking, nonBlockingKinds, readOnlyCommands } from '../../core/boxes/index.ts'
import { type HeldCommand, isFinal, type LeasedCommand } from '../../core/hosts/index.ts'
import { type AgentActor, type Clock, elapsedMs, isoIn, isoNow } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { refuseShutOut } from './authenticate-agent.ts'
import { type Command, commandOf, commandsByIds } from './command.repo.ts'
import type { Waiting } from './command-bus.ts'
import type { HostsDeps } from './deps.ts'
import { renewHeld } from './held-commands.ts'
import { lockHost, standingOf } from './host.repo.ts'

type Poll = Readonly<{ holding: readonly HeldCommand[]; room: 'all' | 'questions' }>

/**
 * The next command for the host, waited for as long as a long poll lasts; null when there was none. Throws HOST_REVOKED or HOST_FROZEN as
 * soon as the host is shut out.
 */
export async function nextCommand(deps: HostsDeps, agent: AgentActor, poll: Poll, signal: AbortSignal): Promise<LeasedCommand | null> {
  const { clock, bus, agents } = deps
  const untilMs = clock.monotonicMs() + agents.longPollMs
  for (;;) {
    const work = bus.untilQueued(agent.hostId) // before the look, so that nothing queued between the two is missed
    try {
      const command = signal.aborted ? undefined : await lease(deps, agent, poll)
      if (command) return command
      const leftMs = untilMs - clock.monotonicMs()
      if (leftMs <= 0 || signal.aborted) return null
      if (!(await either(clock, work, leftMs, signal))) return null
    } finally {
      work.cancel()
    }
  }
}

/** True when there may be work, false when the time is up: then nobody need look again. */
async function either(clock: Clock, { woken }: Waiting, ms: number, signal: AbortSignal): Promise<boolean> {
  const done = new AbortController()
  const end = () => done.abort(over)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  const isWoken = await Promise.race([woken.then(() => true), clock.sleep(ms, done.signal).then(() => false)])
  signal.removeEventListener('abort', end)
  end()
  return isWoken
}

/** A signal that is given no reason makes an exception with a stack; nobody reads this one. */
const over = 'over'

async function lease(deps: HostsDeps, agent: AgentActor, poll: Poll): Promise<LeasedCommand | undefined> {
  if (poll.holding.length === 0 && !(await mayHaveWork(deps, agent))) return undefined
  const leased = await deps.db.transaction().execute(async (tx) => {
    refuseShutOut(await lockHost(tx, agent.hostId))
    await renewHeld(tx, deps, agent, poll.holding)
    for (const command of await offered(tx, isoNow(deps.clock), agent.hostId, poll)) {
      if (await deps.boxes.mayAct(tx, command.boxId, agent.hostId)) return handOut(tx, deps, command)
    }
    return undefined
  })
  if (leased) deps.bus.changed(leased.id)
  return leased
}

/** Nearly all polls of a fleet at rest find nothing, and to find nothing needs no lock. Throws like `nextCommand`. */
async function mayHaveWork({ db }: HostsDeps, { hostId }: AgentActor): Promise<boolean> {
  const standing = await standingOf(db, hostId)
  refuseShutOut(standing)
  return standing.hasWork
}

/**
 * What may be handed out, oldest first: queued, or handed out before and never taken up (the answer was lost on its way). A box has one
 * command at a time; a box on which the agent still works, though the daemon gave that command up, is not free. Questions and
 * drills are beside all that: they wait for nothing, and nothing waits for them.
 */
async function offered(tx: Tx, now: string, hostId: string, { holding, room }: Poll): Promise<Command[]> {
  const heldIds = holding.map(({ id }) => id)
  const held = await commandsByIds(tx, heldIds)
  const busyBoxes = held.filter((command) => isUntold(command) && !isNonBlocking(command.kind)).map(({ boxId }) => boxId)
  let query = tx
    .selectFrom('commands as c')
    .selectAll()
    .where('c.host_id', '=', hostId)
    .where('c.status', 'in', ['queued', 'leased'])
    .where('c.deadline_at', '>', now)
  if (heldIds.length > 0) query = query.where('c.id', 'not in', heldIds)
  if (room === 'questions') query = query.where('c.kind', 'in', readOnlyCommands)
  else
    query = query.where((either) =>
      either.or([
        either('c.kind', 'in', nonBlockingKinds),
        either.and([
          either.not(
            either.exists(
              either
                .selectFrom('commands as other')
                .select('other.id')
                .whereRef('other.box_id', '=', 'c.box_id')
                .whereRef('other.id', '<>', 'c.id')
                .where('other.status', 'in', ['leased', 'running'])
                .where('other.kind', 'not in', nonBlockingKinds),
            ),
          ),
          ...(busyBoxes.length > 0 ? [either('c.box_id', 'not in', busyBoxes)] : []),
        ]),
      ]),
    )
  return (await query.orderBy('c.created_at').orderBy('c.id').limit(20).execute()).map(commandOf)
}

/** The list of a poll that waited may name commands whose outcome came in meanwhile. */
const isUntold = ({ status, result }: Command) => !isFinal(status) || (status === 'expired' && result === null)

async function handOut(tx: Tx, { clock, agents }: HostsDeps, command: Command): Promise<LeasedCommand> {
  const leaseToken = command.leaseToken + 1
  await tx
    .updateTable('commands')
    .set({
      status: 'leased',
      lease_token: leaseToken,
      lease_until: isoIn(clock, agents.requeueAfterMs),
      heard_at: isoNow(clock),
      revision: sql`revision + 1`,
    })
    .where('id', '=', command.id)
    .execute()
  const { id, kind, boxId, payload, deadlineAt } = command
  return { id, kind, boxId, payload, leaseToken, deadlineMs: Math.max(1, elapsedMs(isoNow(clock), deadlineAt)) }
}
