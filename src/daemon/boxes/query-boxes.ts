import type { z } from 'zod'
import { type boxesContract, Service } from '../../core/boxes/index.ts'
import { type Actor, actorLabel, isoIn, newId, plural, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'
import { type CommandBus, commandsByIds, deleteEndedCommands, enqueueCommand, enqueueCommands } from '../hosts/index.ts'
import type { BoxRecord } from './box-record.ts'
import { addressesInScope, type BoxAddress, boxesBySlugs, existingBox } from './boxes.repo.ts'
import { type FleetDeps, readFleet, readHost } from './fleet.ts'

// Questions to agents; none of them changes a box.

export type QueryDeps = FleetDeps & Readonly<{ db: Db; random: Random; bus: CommandBus }>

type Question = Readonly<{ slug: string; commandId: string }>
type Unreachable = Readonly<{ slug: string; host: string }>
type Asked = Readonly<{ commands: Question[]; unreachable: Unreachable[] }>

/** An answer that takes longer is of no use: the next question comes anyway. */
const deadlineMs = 10 * 60_000
/** Commands per transaction: others want to write too. */
const chunkSize = 250
/** The most per transaction, however long it waited: what it holds up stays under a quarter of a second. */
const longestChunk = 2000
/** Agents woken at once. The others of a large fleet find their questions when they ask next, so that their answers come spread over a poll. */
const wokenAtOnce = 20

/** Asks the agents of live boxes, all or the named ones, what runs. Throws as `namedBoxes`. */
export async function scanBoxes(deps: QueryDeps, actor: Actor, { slugs }: { slugs?: readonly string[] | undefined }): Promise<Asked> {
  const asked = await askVersions(deps, await (slugs ? namedBoxes(deps.db, slugs) : addressesInScope(deps.db)))
  const data = { slugs: slugs ?? 'all', asked: asked.commands.length, unreachable: asked.unreachable.length }
  await deps.db.transaction().execute((tx) => recordAudit(tx, deps.clock, { actor, action: 'boxes.scan', data }))
  return asked
}

/** Throws NOT_FOUND naming every slug that no box bears, CONFLICT for a box that is not ready or not there any more. */
async function namedBoxes(db: Db, slugs: readonly string[]): Promise<BoxAddress[]> {
  const boxes = await boxesBySlugs(db, slugs)
  const details = slugs.flatMap((slug, at) => (boxes.has(slug) ? [] : [{ path: `slugs.${at}`, reason: `there is no box ${slug}` }]))
  if (details.length > 0)
    throw problem('NOT_FOUND', `${details.map(({ reason }) => reason).join('; ')}: \`tenantry boxes list\` shows all`, { details })
  for (const box of boxes.values()) assertLive(box)
  return [...boxes.values()].toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
}

/** The nightly question to every live box (spec 4.10, version sync). */
export async function syncVersions(deps: QueryDeps, signal?: AbortSignal): Promise<string> {
  const { commands, unreachable } = await askVersions(deps, await addressesInScope(deps.db), signal)
  return `${plural(commands.length, 'box', 'boxes')} asked, ${unreachable.length} unreachable`
}

async function askVersions(deps: QueryDeps, boxes: readonly BoxAddress[], signal?: AbortSignal): Promise<Asked> {
  const fleet = await readFleet(deps, deps.db)
  const isOnline = (box: BoxAddress) => fleet.host(box.hostId)?.status === 'online'
  const reachable = boxes.filter(isOnline)
  const commands: Question[] = []
  let size = chunkSize
  while (commands.length < reachable.length && !signal?.aborted) {
    const chunk = reachable.slice(commands.length, commands.length + size)
    const { asked, share } = await askInTurn(deps, chunk)
    commands.push(...asked)
    size = Math.max(chunkSize, Math.min(longestChunk, Math.round(share * chunk.length)))
  }
  const hosts = new Set(reachable.slice(0, commands.length).map((box) => box.hostId))
  for (const hostId of [...hosts].slice(0, wokenAtOnce)) deps.bus.queued(hostId)
  const away = boxes.filter((box) => !isOnline(box))
  return { commands, unreachable: away.map(({ slug, hostId }) => ({ slug, host: fleet.host(hostId)?.name ?? hostId })) }
}

/**
 * `share` is how many times as long as it worked it had waited for its turn. A fleet that answers already is a queue before each transaction, and
 * the longer the questions take, the longer it grows: taking as long a turn as it waited for one, a scan takes about twice its own
 * time, unless each wait is longer than the longest turn.
 */
async function askInTurn(deps: QueryDeps, chunk: readonly BoxAddress[]): Promise<{ asked: Question[]; share: number }> {
  const cameMs = deps.clock.monotonicMs()
  let beganMs = cameMs
  const asked = await deps.db.transaction().execute((tx) => {
    beganMs = deps.clock.monotonicMs()
    return askChunk(deps, tx, chunk)
  })
  return { asked, share: (beganMs - cameMs) / Math.max(1, deps.clock.monotonicMs() - beganMs) }
}

async function askChunk({ clock, random }: QueryDeps, tx: Tx, boxes: readonly BoxAddress[]): Promise<Question[]> {
  const questions = boxes.map((box) => ({ slug: box.slug, commandId: newId(random, 'cmd') }))
  const kind = 'tenant-box.report_versions'
  const commands = boxes.map((box, at) => ({ id: questions[at]?.commandId ?? '', ...addressed(box), kind, deadlineMs }) as const)
  await enqueueCommands(tx, clock, commands)
  return questions
}

const addressed = (box: BoxAddress) => ({
  hostId: box.hostId,
  boxId: box.id,
  payload: { slug: box.slug, boxId: box.id, ownershipEpoch: box.ownershipEpoch },
})

/** Asks for one probe. Throws NOT_FOUND, CONFLICT for a box that is not ready, HOST_OFFLINE. */
export async function checkBox(deps: QueryDeps, actor: Actor, slug: string): Promise<{ commandId: string }> {
  const { db, clock, random, bus } = deps
  const box = await existingBox(db, slug)
  assertLive(box)
  await assertHostOnline(deps, db, box)
  const commandId = newId(random, 'cmd')
  await db.transaction().execute(async (tx) => {
    await enqueueCommand(tx, clock, { id: commandId, ...addressed(box), kind: 'tenant-box.healthcheck', deadlineMs })
    await recordAudit(tx, clock, { actor, action: 'box.check', subject: slug, data: { commandId } })
  })
  bus.queued(box.hostId)
  return { commandId }
}

/** Throws CONFLICT for a box that is not ready or not there any more. */
export function assertLive({ slug, live, removal }: BoxRecord): void {
  if (removal) throw problem('CONFLICT', `the box ${slug} was removed: \`tenantry boxes remove ${slug} --undo\` lets it run again`)
  if (!live) throw problem('CONFLICT', `the box ${slug} is not ready yet: \`tenantry boxes show ${slug}\` tells why`)
}

/** Throws HOST_OFFLINE. */
export async function assertHostOnline(deps: FleetDeps, db: DbOrTx, { slug, hostId }: BoxRecord): Promise<void> {
  const host = await readHost(deps, db, hostId)
  if (host?.status !== 'online')
    throw problem('HOST_OFFLINE', `the host ${host?.name ?? hostId} of ${slug} is ${host?.status ?? 'gone'}: ${mendOf(slug, host)}`)
}

/** A host that is shut out does not come back by itself, whoever starts its agent. */
function mendOf(slug: string, host: Awaited<ReturnType<typeof readHost>>): string {
  if (host?.status !== 'revoked' && host?.status !== 'frozen') return 'start its agent, then try again'
  const anew = `\`tenantry hosts invite ${host.name}\` and \`tenantry-agent enrol --anew\` there bring it back`
  return `${anew}; if it is gone for good: \`tenantry boxes move ${slug} --to <host> --old-host-is-dead ${host.name} --reason <why>\``
}

type Wanted = { slug: string } & z.output<typeof boxesContract.readLogs.body>

/** Whoever asks waits for it. */
const logsDeadlineMs = 60_000
/** Long enough for whoever asked to fetch them: what people write may stand in logs. */
const keptMs = 10 * 60_000

/**
 * Asks for what the services of a box print. One who goes on reading names the own command before, and only the first is written into the
 * audit log. Throws NOT_FOUND, CONFLICT, HOST_OFFLINE.
 */
export async function readLogs(deps: QueryDeps, actor: Actor, wanted: Wanted): Promise<{ commandId: string }> {
  const { db, clock, random, bus } = deps
  const { slug, services = Service.options, lines, since, continues } = wanted
  const commandId = newLogsId(random, actor)
  const box = await existingBox(db, slug)
  assertLive(box)
  await assertHostOnline(deps, db, box)
  await db.transaction().execute(async (tx) => {
    await deleteOldLogs(deps, tx, box.id)
    const payload = {
      slug,
      boxId: box.id,
      ownershipEpoch: box.ownershipEpoch,
      services: [...services],
      lines,
      ...(since === undefined ? {} : { since }),
    }
    await enqueueCommand(tx, clock, {
      id: commandId,
      hostId: box.hostId,
      boxId: box.id,
      kind: 'tenant-box.logs',
      payload,
      deadlineMs: logsDeadlineMs,
    })
    if (continues === undefined || !(await isLogsOf(tx, continues, box.id, actor)))
      await recordAudit(tx, clock, { actor, action: 'box.logs', subject: slug, data: { services, commandId } })
  })
  bus.queued(box.hostId)
  return { commandId }
}

/** Its end says who asked. */
const newLogsId = (random: Random, actor: Actor): string => `${newId(random, 'cmd')}${endFor(actor)}`
const endFor = (actor: Actor): string => `.${sha256Hex(actorLabel(actor)).slice(0, 12)}`

const isLogsOf = async (tx: Tx, commandId: string, boxId: string, actor: Actor): Promise<boolean> =>
  commandId.endsWith(endFor(actor)) &&
  (await commandsByIds(tx, [commandId])).some((command) => command.kind === 'tenant-box.logs' && command.boxId === boxId)

/** Deletes logs that were fetched or expired: of one box, or of all. */
export const deleteOldLogs = ({ clock }: Pick<QueryDeps, 'clock'>, db: DbOrTx, boxId?: string): Promise<void> =>
  deleteEndedCommands(db, { kind: 'tenant-box.logs', before: isoIn(clock, -keptMs), boxId })
