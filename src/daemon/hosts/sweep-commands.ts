import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { acquireLease, type Db, holdLease, type Lease, releaseLease, type Tx } from '../db/index.ts'
import type { CommandBus } from './command-bus.ts'
import { tellFailures } from './command-listeners.ts'
import type { AgentTimes, BoxSide } from './deps.ts'
import { expireCommands, openStatuses } from './expire-commands.ts'

type Deps = Readonly<{ db: Db; clock: Clock; log: Logger; bus: CommandBus; agents: AgentTimes; boxes: BoxSide; holder: string }>

const everyMs = 5000
const leaseMs = 20_000
const forgetEveryMs = 60 * 60_000
const keptMs = 7 * 24 * 60 * 60_000

/** Equal windows would give up a command in the moment it is offered again. Throws CONFIG_INVALID; called when the daemon starts. */
export function requireWindows({ offlineAfterMs, requeueAfterMs, reapAfterMs, longPollMs }: AgentTimes): void {
  if (requeueAfterMs >= reapAfterMs)
    throw problem('CONFIG_INVALID', `agents.requeueAfterMs (${requeueAfterMs}) must be shorter than agents.reapAfterMs (${reapAfterMs})`)
  if (longPollMs * 2 > offlineAfterMs || longPollMs * 2 > requeueAfterMs)
    throw problem('CONFIG_INVALID', 'agents.longPollMs must be at most half of agents.offlineAfterMs and agents.requeueAfterMs')
}

/**
 * Every five seconds, in one replica: commands past their deadline expire, those of silent agents are offered again, and those that nobody
 * was heard of for too long are given up.
 */
export async function runCommandSweep(deps: Deps, signal: AbortSignal): Promise<void> {
  requireWindows(deps.agents)
  const sweep = commandSweep(deps)
  while (!signal.aborted) {
    await sweep().catch((err) => deps.log.warn({ err }, 'could not look for commands of silent agents'))
    await deps.clock.sleep(everyMs, signal)
  }
  const lease = await acquireLease(deps, { name: 'hosts.sweep', owner: deps.holder, ttlMs: leaseMs }).catch(() => undefined)
  if (lease) await releaseLease(deps, lease).catch(() => undefined)
}

/**
 * One round of the sweep; does nothing while another replica owns it. It remembers since when it has listened: a daemon that was down itself
 * has heard nobody, and must not take its own absence for the agents'.
 */
export function commandSweep(deps: Deps): () => Promise<void> {
  let listening: { token: number; sinceMs: number } | undefined
  let forgotAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    const lease = await acquireLease(deps, { name: 'hosts.sweep', owner: deps.holder, ttlMs: leaseMs })
    if (!lease) return
    if (listening?.token !== lease.token) listening = { token: lease.token, sinceMs: deps.clock.monotonicMs() }
    await round(deps, lease, deps.clock.monotonicMs() - listening.sinceMs)
    if (deps.clock.monotonicMs() - forgotAtMs < forgetEveryMs) return
    await forgetQuestions(deps)
    forgotAtMs = deps.clock.monotonicMs()
  }
}

/**
 * Questions that were over a week ago, answered or not: they are asked every night, and what they brought stands in the registry or in a plan.
 * Commands of a rollout stay: they belong to it, and its engine may not have read them yet.
 */
async function forgetQuestions({ db, clock, log }: Deps): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('commands')
    .where('status', 'not in', openStatuses)
    .where('kind', 'in', ['tenant-box.report_versions', 'tenant-box.healthcheck', 'tenant-box.resolve_images'])
    .where('finished_at', '<=', isoIn(clock, -keptMs))
    .where('id', 'like', 'cmd%')
    .executeTakeFirst()
  if (numDeletedRows > 0n) log.debug({ commands: Number(numDeletedRows) }, 'forgot old questions to boxes')
}

async function round({ db, clock, bus, agents, boxes }: Deps, lease: Lease, listenedMs: number): Promise<void> {
  const now = isoNow(clock)
  const done = await db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    const late = await expireCommands(tx, now, {
      deadlineBefore: now,
      error: { code: 'COMMAND_EXPIRED', message: 'the deadline passed without a result: look at the host and at the box' },
    })
    const lost = listenedMs < agents.reapAfterMs ? [] : await reap(tx, clock, agents)
    const requeued = listenedMs < agents.requeueAfterMs ? [] : await requeueSilent(tx, now)
    await tellFailures(tx, boxes, [...late, ...lost])
    return { expired: [...late, ...lost], requeued }
  })
  for (const id of [...done.expired, ...done.requeued.map((command) => command.id)]) bus.changed(id)
  for (const { host_id } of done.requeued) bus.queued(host_id)
}

const reap = (tx: Tx, clock: Clock, { reapAfterMs }: AgentTimes) =>
  expireCommands(tx, isoNow(clock), {
    silentSince: isoIn(clock, -reapAfterMs),
    error: {
      code: 'HOST_OFFLINE',
      message: `the agent took the command and was not heard of for ${Math.round(reapAfterMs / 60_000)} min: look at the host, its answer is taken in when it comes back`,
    },
  })

/** The lease token stays: until the command is handed out anew, the agent that had it may come back and claim it. */
const requeueSilent = (tx: Tx, now: string) =>
  tx
    .updateTable('commands')
    .set({ status: 'queued', lease_until: null, revision: sql`revision + 1` })
    .where('status', 'in', ['leased', 'running'])
    .where('lease_until', '<=', now)
    .returning(['id', 'host_id'])
    .execute()
