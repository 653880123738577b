import type { z } from 'zod'
import { type boxesContract, Service } from '../../core/boxes/index.ts'
import { type Actor, isoIn, newId, plural, problem, type Random } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'
import { type CommandBus, deleteEndedCommands, enqueueCommand, enqueueCommands } from '../hosts/index.ts'
import type { BoxRecord } from './box-record.ts'
import { addressesInScope, type BoxAddress, boxesBySlugs, existingBox } from './boxes.repo.ts'
import { type FleetDeps, readFleet, readHost } from './fleet.ts'

// Read-only commands to agents: versions, one probe, logs.

export type QueryDeps = FleetDeps & Readonly<{ db: Db; random: Random; bus: CommandBus }>

type Query = Readonly<{ slug: string; commandId: string }>
type Unreachable = Readonly<{ slug: string; host: string }>
type ScanStarted = Readonly<{ commands: Query[]; unreachable: Unreachable[] }>

/** A later result is of no use: the next scan comes anyway. */
const deadlineMs = 10 * 60_000
/** Commands per transaction, so that other writers are not blocked. */
const minChunk = 250
/** Upper limit per transaction: it blocks other writers for at most a quarter of a second. */
const maxChunk = 2000
/** Hosts notified at once. In a large fleet the others find their commands at their next poll, which spreads their results. */
const maxNotified = 20

/** Reads the running versions of all live boxes, or of the named ones. Throws NOT_FOUND, CONFLICT. */
export async function scanBoxes(deps: QueryDeps, actor: Actor, { slugs }: { slugs?: readonly string[] | undefined }): Promise<ScanStarted> {
  const started = await queryVersions(deps, await (slugs ? namedBoxes(deps.db, slugs) : addressesInScope(deps.db)))
  const data = { slugs: slugs ?? 'all', asked: started.commands.length, unreachable: started.unreachable.length }
  await deps.db.transaction().execute((tx) => recordAudit(tx, deps.clock, { actor, action: 'boxes.scan', data }))
  return started
}

/** Throws NOT_FOUND with every unknown slug, CONFLICT for a box that is not ready or was removed. */
async function namedBoxes(db: Db, slugs: readonly string[]): Promise<BoxAddress[]> {
  const boxes = await boxesBySlugs(db, slugs)
  const details = slugs.flatMap((slug, at) => (boxes.has(slug) ? [] : [{ path: `slugs.${at}`, reason: `box ${slug} does not exist` }]))
  if (details.length > 0)
    throw problem('NOT_FOUND', `${details.map(({ reason }) => reason).join('; ')}. fix: \`tenantry boxes list\``, { details })
  for (const box of boxes.values()) assertLive(box)
  return [...boxes.values()].toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
}

/** The nightly version sync of every live box (spec 4.10). */
export async function syncVersions(deps: QueryDeps, signal?: AbortSignal): Promise<string> {
  const { commands, unreachable } = await queryVersions(deps, await addressesInScope(deps.db), signal)
  return `${plural(commands.length, 'box', 'boxes')} queried, ${unreachable.length} unreachable`
}

async function queryVersions(deps: QueryDeps, boxes: readonly BoxAddress[], signal?: AbortSignal): Promise<ScanStarted> {
  const fleet = await readFleet(deps, deps.db)
  const isOnline = (box: BoxAddress) => fleet.host(box.hostId)?.status === 'online'
  const reachable = boxes.filter(isOnline)
  const commands: Query[] = []
  let size = minChunk
  while (commands.length < reachable.length && !signal?.aborted) {
    const chunk = reachable.slice(commands.length, commands.length + size)
    const { queries, share } = await enqueueTimed(deps, chunk)
    commands.push(...queries)
    size = Math.max(minChunk, Math.min(maxChunk, Math.round(share * chunk.length)))
  }
  const hosts = new Set(reachable.slice(0, commands.length).map((box) => box.hostId))
  for (const hostId of [...hosts].slice(0, maxNotified)) deps.bus.queued(hostId)
  const offline = boxes.filter((box) => !isOnline(box))
  return { commands, unreachable: offline.map(({ slug, hostId }) => ({ slug, host: fleet.host(hostId)?.name ?? hostId })) }
}

/**
 * Enqueues a chunk. `share` is the wait for the transaction divided by its own time: agents that already report keep a queue before each transaction,
 * so the next chunk grows with the wait, and the scan takes about twice its own time.
 */
async function enqueueTimed(deps: QueryDeps, chunk: readonly BoxAddress[]): Promise<{ queries: Query[]; share: number }> {
  const requestedMs = deps.clock.monotonicMs()
  let begunMs = requestedMs
  const queries = await deps.db.transaction().execute((tx) => {
    begunMs = deps.clock.monotonicMs()
    return enqueueChunk(deps, tx, chunk)
  })
  return { queries, share: (begunMs - requestedMs) / Math.max(1, deps.clock.monotonicMs() - begunMs) }
}

async function enqueueChunk({ clock, random }: QueryDeps, tx: Tx, boxes: readonly BoxAddress[]): Promise<Query[]> {
  const queries = boxes.map((box) => ({ slug: box.slug, commandId: newId(random, 'cmd') }))
  const kind = 'tenant-box.report_versions'
  const commands = boxes.map((box, at) => ({ id: queries[at]?.commandId ?? '', ...addressed(box), kind, deadlineMs }) as const)
  await enqueueCommands(tx, clock, commands)
  return queries
}

export const addressed = (box: BoxAddress) => ({
  hostId: box.hostId,
  boxId: box.id,
  payload: { slug: box.slug, boxId: box.id, ownershipEpoch: box.ownershipEpoch },
})

/** Queues one command for a live box and wakes its host. Throws NOT_FOUND, CONFLICT for a box that is not ready, HOST_OFFLINE. */
async function queryBox(
  deps: QueryDeps,
  slug: string,
  queue: (tx: Tx, box: BoxRecord, commandId: string) => Promise<void>,
): Promise<{ commandId: string }> {
  const { db, random, bus } = deps
  const box = await existingBox(db, slug)
  assertLive(box)
  await assertHostOnline(deps, db, box)
  const commandId = newId(random, 'cmd')
  await db.transaction().execute((tx) => queue(tx, box, commandId))
  bus.queued(box.hostId)
  return { commandId }
}

/** Requests one probe. Throws NOT_FOUND, CONFLICT for a box that is not ready, HOST_OFFLINE. */
export const checkBox = (deps: QueryDeps, actor: Actor, slug: string): Promise<{ commandId: string }> =>
  queryBox(deps, slug, async (tx, box, commandId) => {
    await enqueueCommand(tx, deps.clock, { id: commandId, ...addressed(box), kind: 'tenant-box.healthcheck', deadlineMs })
    await recordAudit(tx, deps.clock, { actor, action: 'box.check', subject: slug, data: { commandId } })
  })

/** Measures the services once. Throws NOT_FOUND, CONFLICT for a box that is not ready, HOST_OFFLINE. */
export const readServices = (deps: QueryDeps, slug: string): Promise<{ commandId: string }> =>
  queryBox(deps, slug, async (tx, box, commandId) => {
    await deleteOldAnswers(deps, tx, box.id)
    const command = { id: commandId, ...addressed(box), kind: 'tenant-box.services', deadlineMs: answerDeadlineMs } as const
    await enqueueCommand(tx, deps.clock, command)
  })

/** Throws CONFLICT for a box that is not ready or was removed. */
export function assertLive({ slug, live, removal }: BoxRecord): void {
  if (removal) throw problem('CONFLICT', `box ${slug} was removed. fix: \`tenantry boxes remove ${slug} --undo\``)
  if (!live) throw problem('CONFLICT', `box ${slug} is not ready yet. Reason: \`tenantry boxes show ${slug}\``)
}

/** Throws HOST_OFFLINE. */
export async function assertHostOnline(deps: FleetDeps, db: DbOrTx, { slug, hostId }: BoxRecord): Promise<void> {
  const host = await readHost(deps, db, hostId)
  if (host?.status !== 'online')
    throw problem('HOST_OFFLINE', `host ${host?.name ?? hostId} of ${slug} is ${host?.status ?? 'gone'}. fix: ${fixFor(slug, host)}`)
}

/** A revoked or frozen host does not return by starting its agent. */
function fixFor(slug: string, host: Awaited<ReturnType<typeof readHost>>): string {
  if (host?.status !== 'revoked' && host?.status !== 'frozen') return 'start its agent, then retry'
  const reenrol = `\`tenantry hosts invite ${host.name}\`, then \`tenantry-agent enrol --anew\` on it`
  return `${reenrol}; if it is permanently lost: \`tenantry boxes move ${slug} --to <host> --old-host-is-dead ${host.name} --reason <why>\``
}

type LogsInput = { slug: string } & z.output<typeof boxesContract.readLogs.body>

/** A client waits for the result. */
const answerDeadlineMs = 60_000
/** Time to fetch the result. It is short because logs may contain messages of people. */
const answerRetentionMs = 10 * 60_000

/** Requests the logs of a box's services. Throws NOT_FOUND, CONFLICT, HOST_OFFLINE. */
export function readLogs(deps: QueryDeps, actor: Actor, input: LogsInput): Promise<{ commandId: string }> {
  const { slug, services = Service.options, lines, since } = input
  return queryBox(deps, slug, async (tx, box, commandId) => {
    await deleteOldAnswers(deps, tx, box.id)
    const command = addressed(box)
    const payload = { ...command.payload, services: [...services], lines, ...(since === undefined ? {} : { since }) }
    await enqueueCommand(tx, deps.clock, { ...command, id: commandId, kind: 'tenant-box.logs', payload, deadlineMs: answerDeadlineMs })
    await recordAudit(tx, deps.clock, { actor, action: 'box.logs', subject: slug, data: { services, commandId } })
  })
}

const answerKinds = ['tenant-box.logs', 'tenant-box.services', 'tenant-box.follow_logs'] as const

/** Deletes logs and measurements that were fetched or expired: of one box, or of all. */
export async function deleteOldAnswers({ clock }: Pick<QueryDeps, 'clock'>, db: DbOrTx, boxId?: string): Promise<void> {
  for (const kind of answerKinds) await deleteEndedCommands(db, { kind, before: isoIn(clock, -answerRetentionMs), boxId })
}
