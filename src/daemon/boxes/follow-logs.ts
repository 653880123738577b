import { type FollowedLogs, Service } from '../../core/boxes/index.ts'
import type { StreamMessage } from '../../core/contract/index.ts'
import { channelLimits, isFinal } from '../../core/hosts/index.ts'
import { type Actor, actorLabel, elapsedMs, isoIn, isoNow, newId, problem, sha256Hex } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import {
  abandonCommand,
  awaitChange,
  type Command,
  commandById,
  deleteLines,
  enqueueCommand,
  extendDeadline,
  openFollowers,
  takeLines,
} from '../hosts/index.ts'
import { existingBox } from './boxes.repo.ts'
import { readHost } from './fleet.ts'
import { addressed, assertHostOnline, assertLive, type QueryDeps } from './query-boxes.ts'

// Live logs: one command of the agent for each follower. The stream moves its deadline while it is read, so that it expires with the stream,
// also when the daemon is killed.

const maxPerActor = 12
const deadlineMs = 20_000
const extendEveryMs = 5_000
/** Interval of the check for a silent agent, and of the poll for lines that another replica got. */
const pollMs = 1_000
/** An agent sends a sign of life every three seconds. */
const maxSilenceMs = 12_000

type Input = Readonly<{
  slug: string
  services?: string | undefined
  lines: number
  since?: string | undefined
  lastEventId?: string | undefined
  signal: AbortSignal
}>

/** Follows the logs of a box until the signal aborts. Throws NOT_FOUND, CONFLICT, HOST_OFFLINE, VALIDATION, and RATE_LIMITED for too many followers. */
export async function followLogs(deps: QueryDeps, actor: Actor, input: Input): Promise<AsyncIterable<StreamMessage<FollowedLogs>>> {
  const { db, clock, random, bus } = deps
  const { slug, lines, signal } = input
  const since = readSince(input)
  const services = input.services === undefined ? Service.options : Service.array().parse([...new Set(input.services.split(','))])
  const id = `${newId(random, 'cmd')}${actorSuffix(actor)}`
  const box = await existingBox(db, slug)
  assertLive(box)
  await assertHostOnline(deps, db, box)
  const host = (await readHost(deps, db, box.hostId))?.name ?? box.hostId
  await db.transaction().execute(async (tx) => {
    await assertFewFollowers(tx, { actor, hostId: box.hostId, host })
    const command = addressed(box)
    const payload = { ...command.payload, services: [...services], lines, ...(since === undefined ? {} : { since }) }
    await enqueueCommand(tx, clock, { ...command, id, kind: 'tenant-box.follow_logs', payload, deadlineMs })
    await recordAudit(tx, clock, { actor, action: 'box.logs', subject: slug, data: { services, commandId: id, follow: true } })
  })
  bus.queued(box.hostId)
  return messages(deps, { id, host }, signal)
}

/** The id of a command ends with a hash of its reader, by which readers are counted. */
const actorSuffix = (actor: Actor): string => `.${sha256Hex(actorLabel(actor)).slice(0, 12)}`

/** Where a stream that broke off continues, or the requested time. */
function readSince({ since, lastEventId }: Input): string | undefined {
  if (!lastEventId) return since
  if (lastEventId.length <= 40 && !Number.isNaN(Date.parse(lastEventId))) return lastEventId
  const details = [{ path: 'Last-Event-ID', reason: 'must be a time' }]
  throw problem('VALIDATION', 'Last-Event-ID must be a time such as 2026-01-05T02:00:00Z', { details })
}

async function assertFewFollowers(tx: Tx, { actor, hostId, host }: Readonly<{ actor: Actor; hostId: string; host: string }>) {
  const open = await openFollowers(tx)
  const ofActor = open.filter(({ id }) => id.endsWith(actorSuffix(actor))).length
  if (ofActor >= maxPerActor) throw problem('RATE_LIMITED', `You follow the logs of ${ofActor} boxes already. fix: end one of them`)
  const ofHost = open.filter(({ host_id }) => host_id === hostId).length
  if (ofHost >= channelLimits.followers)
    throw problem('RATE_LIMITED', `Host ${host} has ${ofHost} readers of logs already. fix: retry when one has ended`)
}

type Followed = Readonly<{ id: string; host: string }>

async function* messages(deps: QueryDeps, followed: Followed, signal: AbortSignal): AsyncGenerator<StreamMessage<FollowedLogs>> {
  const { db, clock } = deps
  const { id } = followed
  let extendedMs = clock.monotonicMs()
  let leaseToken = 0
  try {
    while (!signal.aborted) {
      const command = await commandById(db, id) // before the lines are taken: none can follow its end unread
      for (const batch of await takeLines(db, id)) yield { ...positionOf(batch), event: 'lines', data: { ...batch, end: null } }
      const end = endOf(deps, command, { ...followed, leaseToken })
      if (end) return yield { event: 'end', data: { lines: [], leftOut: false, end } }
      leaseToken = command.leaseToken
      if (clock.monotonicMs() - extendedMs >= extendEveryMs) {
        extendedMs = clock.monotonicMs()
        await extendDeadline(db, { id, deadlineAt: isoIn(clock, deadlineMs) })
      }
      await awaitChange(deps, { id, seen: command.revision, waitMs: pollMs }, signal)
    }
  } finally {
    await stopFollowing(deps, id).catch(() => undefined) // its deadline ends it
  }
}

/** A client that reconnects continues after the newest line. */
function positionOf({ lines }: Pick<FollowedLogs, 'lines'>): { id?: string } {
  const id = lines.at(-1)?.at
  return id === undefined ? {} : { id }
}

/** Why no more lines will come; undefined while the agent reads. */
function endOf(
  { clock }: QueryDeps,
  command: Command,
  { host, leaseToken }: Followed & { leaseToken: number },
): FollowedLogs['end'] | undefined {
  if (isFinal(command.status)) return command.error ?? { code: 'UNAVAILABLE', message: `The agent of ${host} stopped.` }
  if (leaseToken > 0 && command.leaseToken !== leaseToken) return { code: 'UNAVAILABLE', message: `The agent of ${host} restarted.` }
  const silentMs = elapsedMs(command.heardAt ?? command.createdAt, isoNow(clock))
  if (silentMs <= maxSilenceMs) return undefined
  const message = `Host ${host} has sent nothing for ${Math.round(silentMs / 1000)} s. fix: \`tenantry hosts show ${host}\``
  return { code: 'HOST_OFFLINE', message }
}

/** Ends the command: the agent learns it with its next lines. */
async function stopFollowing({ db, clock, bus }: QueryDeps, id: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { leaseToken } = await commandById(tx, id)
    await abandonCommand(tx, clock, { id, leaseToken, error: { code: 'COMMAND_EXPIRED', message: 'The follower is gone.' } })
    await deleteLines(tx, id)
  })
  bus.changed(id)
}
