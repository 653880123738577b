import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { type Db, holdLease, type Lease, type Tx } from '../db/index.ts'
import type { LeasedLoop } from '../feature/index.ts'
import type { CommandBus } from './command-bus.ts'
import { notifyFailures } from './command-handlers.ts'
import type { AgentTimes, BoxPort } from './deps.ts'
import { expireCommands, openStatuses } from './expire-commands.ts'

type Deps = Readonly<{ db: Db; clock: Clock; log: Logger; bus: CommandBus; agents: AgentTimes; boxes: BoxPort }>

const deleteEveryMs = 60 * 60_000
const retentionMs = 7 * 24 * 60 * 60_000

/** Checks at start that a command is requeued before it expires. Throws CONFIG_INVALID. */
export function assertWindows({ offlineAfterMs, requeueAfterMs, reapAfterMs, longPollMs }: AgentTimes): void {
  if (requeueAfterMs >= reapAfterMs)
    throw problem('CONFIG_INVALID', `agents.requeueAfterMs (${requeueAfterMs}) must be shorter than agents.reapAfterMs (${reapAfterMs})`)
  if (longPollMs * 2 > offlineAfterMs || longPollMs * 2 > requeueAfterMs)
    throw problem('CONFIG_INVALID', 'agents.longPollMs must be at most half of agents.offlineAfterMs and agents.requeueAfterMs')
}

/**
 * Expires commands past their deadline, requeues commands of silent agents, and expires commands whose agent has been silent too long. Silence is
 * counted only from the start of the lease: after its own downtime a daemon must not treat every agent as silent.
 */
export function commandSweep(deps: Deps): LeasedLoop {
  assertWindows(deps.agents)
  const listenedMs = leaseAge(deps.clock)
  let deletedAtMs = Number.NEGATIVE_INFINITY
  return {
    name: 'expire and requeue commands',
    everyMs: 5000,
    lease: { name: 'hosts.sweep', ttlMs: 20_000 },
    run: async ({ lease }) => {
      await sweep(deps, lease, listenedMs(lease))
      if (deps.clock.monotonicMs() - deletedAtMs < deleteEveryMs) return
      await deleteOldQueries(deps)
      deletedAtMs = deps.clock.monotonicMs()
    },
  }
}

/** Returns how long this process has had a lease without a gap, in milliseconds. */
export function leaseAge(clock: Clock): (lease: Lease) => number {
  let held: { token: number; sinceMs: number } | undefined
  return ({ token }) => {
    if (held?.token !== token) held = { token, sinceMs: clock.monotonicMs() }
    return clock.monotonicMs() - held.sinceMs
  }
}

/**
 * Deletes read-only commands that finished a week ago; their results are stored in the registry or in a plan. Commands of a rollout stay,
 * because its engine may not have read them yet.
 */
async function deleteOldQueries({ db, clock, log }: Deps): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('commands')
    .where('status', 'not in', openStatuses)
    .where('kind', 'in', ['tenant-box.report_versions', 'tenant-box.healthcheck', 'tenant-box.resolve_images'])
    .where('finished_at', '<=', isoIn(clock, -retentionMs))
    .where('id', 'like', 'cmd%')
    .executeTakeFirst()
  if (numDeletedRows > 0n) log.debug({ commands: Number(numDeletedRows) }, 'deleted old read-only commands')
}

async function sweep({ db, clock, bus, agents, boxes }: Deps, lease: Lease, listenedMs: number): Promise<void> {
  const now = isoNow(clock)
  const done = await db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    const late = await expireCommands(tx, now, {
      deadlineBefore: now,
      error: { code: 'COMMAND_EXPIRED', message: 'The deadline passed without a result. fix: check the host and the box' },
    })
    const lost = listenedMs < agents.reapAfterMs ? [] : await reap(tx, clock, agents)
    const requeued = listenedMs < agents.requeueAfterMs ? [] : await requeueSilent(tx, now)
    await notifyFailures(tx, boxes, [...late, ...lost])
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
      message: `The agent took the command and has been silent for ${Math.round(reapAfterMs / 60_000)} min. fix: check the host; a late result is still stored`,
    },
  })

/** Keeps the lease token, so that the former agent can reclaim the command until it is leased again. */
const requeueSilent = (tx: Tx, now: string) =>
  tx
    .updateTable('commands')
    .set({ status: 'queued', lease_until: null, revision: sql`revision + 1` })
    .where('status', 'in', ['leased', 'running'])
    .where('lease_until', '<=', now)
    .returning(['id', 'host_id'])
    .execute()
