import { sql } from 'kysely'
import { isNonBlocking, nonBlockingKinds, readOnlyCommands } from '../../core/boxes/index.ts'
import { type HeldCommand, isFinal, type LeasedCommand } from '../../core/hosts/index.ts'
import { type AgentActor, type Clock, elapsedMs, isoIn, isoNow } from '../../core/kit/index.ts'
import type { Tx, WithTx } from '../db/index.ts'
import { assertNotBlocked } from './authenticate-agent.ts'
import type { Subscription } from './command-bus.ts'
import { type Command, commandOf, commandsByIds } from './commands.repo.ts'
import type { HostsDeps } from './deps.ts'
import { lockHost, pollState } from './hosts.repo.ts'
import { renewLeases } from './leased-commands.ts'

type Poll = Readonly<{ holding: readonly HeldCommand[]; room: 'all' | 'questions' }>

/** Long-polls for the next command of the host; null if there is none. Throws HOST_REVOKED or HOST_FROZEN as soon as the host is blocked. */
export async function nextCommand(
  deps: HostsDeps,
  { agent, poll }: Readonly<{ agent: AgentActor; poll: Poll }>,
  signal: AbortSignal,
): Promise<LeasedCommand | null> {
  const { clock, bus, agents } = deps
  const untilMs = clock.monotonicMs() + agents.longPollMs
  for (;;) {
    const work = bus.untilQueued(agent.hostId) // subscribe before reading, so that no command is missed
    try {
      const command = signal.aborted ? undefined : await lease(deps, agent, poll)
      if (command) return command
      const leftMs = untilMs - clock.monotonicMs()
      if (leftMs <= 0 || signal.aborted) return null
      if (!(await either(clock, work, { ms: leftMs, signal }))) return null
    } finally {
      work.cancel()
    }
  }
}

/** True when there may be work, false after the time-out. */
async function either(
  clock: Clock,
  { notified }: Subscription,
  { ms, signal }: Readonly<{ ms: number; signal: AbortSignal }>,
): Promise<boolean> {
  const done = new AbortController()
  const end = () => done.abort(over)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  const isWoken = await Promise.race([notified.then(() => true), clock.sleep(ms, done.signal).then(() => false)])
  signal.removeEventListener('abort', end)
  end()
  return isWoken
}

/** Aborting without a reason would create an exception with a stack trace. */
const over = 'over'

async function lease(deps: HostsDeps, agent: AgentActor, poll: Poll): Promise<LeasedCommand | undefined> {
  if (poll.holding.length === 0 && !(await mayHaveWork(deps, agent))) return undefined
  const given = await deps.db.transaction().execute(async (tx) => {
    assertNotBlocked(await lockHost(tx, agent.hostId))
    await renewLeases({ ...deps, tx }, agent, poll.holding)
    for (const command of await offered({ ...deps, tx }, agent, poll)) {
      if (await deps.boxes.mayAct(tx, command, agent.hostId)) return { command, leased: await handOut(tx, deps, command) }
    }
    return undefined
  })
  if (!given) return undefined
  deps.bus.changed(given.leased.id)
  const trace = traceWait(deps, given.command)
  return trace === undefined ? given.leased : { ...given.leased, trace }
}

/** The span of its wait for the agent: the parent of what the agent does. */
function traceWait({ tracing }: HostsDeps, { id, kind, boxId, createdAt, trace }: Command): string | undefined {
  if (!tracing || trace === null) return undefined
  const attributes = { 'tenantry.command.id': id, 'tenantry.command.kind': kind, 'tenantry.box.id': boxId }
  const span = tracing.start({ name: `queue ${kind}`, kind: 'producer', parent: trace, startedAt: createdAt, attributes })
  span.end()
  return span.traceparent
}

/** Most polls find nothing, which needs no lock. Throws like `nextCommand`. */
async function mayHaveWork({ db }: HostsDeps, { hostId }: AgentActor): Promise<boolean> {
  const state = await pollState(db, hostId)
  assertNotBlocked(state)
  return state.hasWork
}

/**
 * Commands that may be leased, oldest first: queued, or leased before with a lost response. A box runs one command at a time, including an
 * expired one that its agent still works on. Read-only commands and drills are exempt.
 */
async function offered({ tx, clock }: WithTx<HostsDeps>, { hostId }: AgentActor, { holding, room }: Poll): Promise<Command[]> {
  const now = isoNow(clock)
  const heldIds = holding.map(({ id }) => id)
  const held = await commandsByIds(tx, heldIds)
  const busyBoxes = held.filter((command) => isUnreported(command) && !isNonBlocking(command.kind)).map(({ boxId }) => boxId)
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

/** A long poll may name commands whose outcome arrived in the meantime. */
const isUnreported = ({ status, result }: Command) => !isFinal(status) || (status === 'expired' && result === null)

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
