import { type BoxCommandPayload, type BoxId, type BoxSnapshots, type HostId, observedText } from '../../core/boxes/index.ts'
import { type Actor, isoNow, newId, plural, problem } from '../../core/kit/index.ts'
import { type Archive, type ArchiveChain, archiveRanges, chainTo, momentAt } from '../../core/snapshots/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type BoxRecord, boxById, existingBox, lockBox, readHost } from '../boxes/index.ts'
import { appendEvent, type DbOrTx, type Tx, type WithTx } from '../db/index.ts'
import { enqueueCommand, type FailureHandlers, hostByName, openCommandsOfKind, type ResultHandlers } from '../hosts/index.ts'
import { drillFailed } from './alerts.ts'
import { archiveOf, archiveState, errorOfState } from './archive.repo.ts'
import type { SnapshotsDeps } from './deps.ts'
import { enqueueDrill } from './drill-box.ts'
import { isLost } from './lost-stores.ts'
import { assertSnapshotsConfigured } from './snapshot-store.ts'
import { recordSnapshot, snapshotById } from './snapshots.repo.ts'
import { boxAddress, getReadyBox, queueGraceMs, takenFacts } from './take-snapshot.ts'

type Input = Readonly<{ slug: string; to: string; host?: string | undefined }>
type Planned = Readonly<{ at: string; baseAt: string; parts: number; bytes: number }>

/** The parts that a recovery to a moment would use, and the moment that it would reach. Throws NOT_FOUND, and CONFLICT with the moments that can be restored. */
export async function planRecovery({ db }: Pick<SnapshotsDeps, 'db'>, { slug, to }: Pick<Input, 'slug' | 'to'>): Promise<Planned> {
  const { chain, at } = await chosen(db, await existingBox(db, slug), to)
  const used = [chain.base, ...chain.logs]
  return { at, baseAt: chain.base.at, parts: used.length, bytes: used.reduce((sum, { addedBytes }) => sum + addedBytes, 0) }
}

/** The archive of a box as its detail view shows it; null for a box without one. */
export async function archiveView(db: DbOrTx, boxId: string): Promise<BoxSnapshots['archive']> {
  const state = await archiveState(db, boxId)
  if (!state) return null
  const ranges = archiveRanges(await archiveOf(db, boxId))
  return { from: ranges.at(-1)?.from ?? null, to: ranges[0]?.to ?? null, error: errorOfState(state.error) }
}

async function chosen(db: DbOrTx, { id, slug }: BoxRecord, to: string): Promise<Readonly<{ chain: ArchiveChain; at: string }>> {
  const archive = await archiveOf(db, id)
  const chain = chainTo(archive, to)
  if (!chain) throw notArchived(slug, archive, to)
  return { chain, at: to === 'latest' ? chain.at : to }
}

const moment = (at: string): string => at.replace('T', ' ').replace(/\.\d+Z$/, 'Z')

function notArchived(slug: string, archive: Archive, to: string) {
  const ranges = archiveRanges(archive)
  const [newest] = ranges
  if (!newest)
    return problem(
      'CONFLICT',
      `the archive of ${slug} has no moment that can be restored. fix: \`tenantry snapshots list --slug ${slug}\`, and restore one`,
    )
  const listed = ranges.slice(0, 5).map(({ from, to: end }) => `${moment(from)} to ${moment(end)}`)
  const more = ranges.length > 5 ? `, and ${plural(ranges.length - 5, 'earlier range')}` : ''
  return problem(
    'CONFLICT',
    `the archive of ${slug} does not have ${moment(to)}; it has ${listed.join(', ')}${more}. fix: choose one of these moments, or \`--to latest\``,
  )
}

/**
 * Starts a recovery, which makes a snapshot of an earlier moment: on the host of the box, or on another one where that is lost. Throws CONFLICT,
 * also while another one of the box is open, and every error of `getReadyBox`.
 */
export async function recoverBox(deps: SnapshotsDeps, actor: Actor, { slug, to, host }: Input): Promise<{ commandId: string; at: string }> {
  const { db, clock, random, bus, deadlineMs } = deps
  const commandId = newId(random, 'cmd')
  const { hostId, at } = await db.transaction().execute(async (tx) => {
    await assertNoneOpen(deps, tx, await lockBox(tx, slug))
    const { box, hostId } = host === undefined ? await onItsHost(deps, tx, slug) : await elsewhere(deps, tx, { slug, host })
    const { chain, at } = await chosen(tx, box, to)
    const command = { id: commandId, hostId, boxId: box.id, deadlineMs: deadlineMs + queueGraceMs }
    const payload: BoxCommandPayload<'tenant-box.recover'> = {
      ...boxAddress(box),
      ...{ base: chain.base.snapshotId, logs: chain.logs.map(({ snapshotId }) => snapshotId), to: to === 'latest' ? null : to, deadlineMs },
    }
    await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.recover', payload })
    await recordAudit(tx, clock, {
      actor,
      action: 'snapshot.recover',
      subject: slug,
      data: { commandId, at, ...(host === undefined ? {} : { host }) },
    })
    return { hostId, at }
  })
  bus.queued(hostId)
  return { commandId, at }
}

/** A drill does not count, and neither does one that waits on a host that is lost. */
async function assertNoneOpen(deps: SnapshotsDeps, tx: Tx, { id, slug }: BoxRecord): Promise<void> {
  for (const command of await openCommandsOfKind(tx, id, 'tenant-box.recover')) {
    if ((command.payload as Payload).isDrill || (await readHost(deps, tx, command.hostId as HostId))?.status !== 'online') continue
    throw problem(
      'CONFLICT',
      `a moment of ${slug} is being recovered. fix: follow it: \`tenantry boxes follow ${slug} --command ${command.id}\``,
    )
  }
}

type Place = Readonly<{ box: BoxRecord; hostId: HostId }>

async function onItsHost(deps: SnapshotsDeps, tx: Tx, slug: string): Promise<Place> {
  const box = await getReadyBox(deps, tx, slug)
  return { box, hostId: box.hostId }
}

/** Any host may hold the data of a tenant only where the own one is lost. Throws CONFLICT, HOST_OFFLINE. */
async function elsewhere(deps: SnapshotsDeps, tx: Tx, { slug, host }: Readonly<{ slug: string; host: string }>): Promise<Place> {
  assertSnapshotsConfigured(deps.settings)
  const box = await existingBox(tx, slug)
  if (!box.managed) throw problem('BOX_NOT_MANAGED', observedText(slug))
  const target = await hostByName(tx, host)
  const [own, other] = [await readHost(deps, tx, box.hostId), await readHost(deps, tx, target.id)]
  if (own?.status === 'online')
    throw problem('CONFLICT', `host ${own.name} of ${slug} is online. fix: restore ${slug} there, without --host`)
  if (other?.status !== 'online')
    throw problem('HOST_OFFLINE', `host ${host} is ${other?.status ?? 'gone'}. fix: start its agent, or choose another host`)
  return { box, hostId: target.id }
}

/** Starts the recovery of a random moment, whose snapshot is drilled. False for a box whose archive has no moment yet. */
export async function enqueueRecoveryDrill(
  deps: WithTx<Pick<SnapshotsDeps, 'clock' | 'random' | 'deadlineMs'>>,
  box: BoxRecord,
): Promise<boolean> {
  const { tx, clock, random, deadlineMs } = deps
  const archive = await archiveOf(tx, box.id)
  const [high = 0, low = 0] = random.bytes(2)
  const to = momentAt(archiveRanges(archive), (high * 256 + low) / 65_536)
  const chain = to === undefined ? undefined : chainTo(archive, to)
  if (!chain || to === undefined) return false
  const command = { id: newId(random, 'cmd'), hostId: box.hostId, boxId: box.id, deadlineMs: deadlineMs + queueGraceMs }
  const used = { base: chain.base.snapshotId, logs: chain.logs.map(({ snapshotId }) => snapshotId), to }
  await enqueueCommand(tx, clock, {
    ...command,
    kind: 'tenant-box.recover',
    payload: { ...boxAddress(box), ...used, deadlineMs, isDrill: true },
  })
  return true
}

type Deps = Pick<SnapshotsDeps, 'clock' | 'random' | 'deadlineMs'>
type Payload = BoxCommandPayload<'tenant-box.recover'>

/** The moment of a recovered snapshot is before its command, and not after it. */
export const recoverResults = ({ clock, ...deps }: Deps): ResultHandlers => ({
  'tenant-box.recover': async (tx, command, { snapshot }) => {
    const box = await boxById(tx, command.boxId as BoxId)
    if (!box) return
    const takenAt = snapshot.takenAt > isoNow(clock) ? isoNow(clock) : snapshot.takenAt
    const facts = { ...takenFacts(snapshot), tier: 'recovered' as const, takenAt, command_id: command.id }
    if (!(await recordSnapshot({ tx, clock }, box, facts))) return
    const payload = { boxId: box.id, slug: box.slug, snapshotId: snapshot.snapshotId, tier: 'recovered', commandId: command.id }
    await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.taken', payload })
    const stored = (command.payload as Payload).isDrill ? await snapshotById(tx, box.tenantId, snapshot.snapshotId) : undefined
    if (stored) await enqueueDrill({ ...deps, clock, tx }, box, stored)
  },
})

export const recoverFailures = ({ clock }: Pick<Deps, 'clock'>): FailureHandlers => ({
  'tenant-box.recover': async (tx, command) => {
    const { slug, base, isDrill } = command.payload as Payload
    const payload = { slug, tier: 'recovered', commandId: command.id, error: command.error }
    await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.failed', payload })
    if (isDrill && !isLost(command.error)) await raiseAlert(tx, clock, drillFailed({ slug, snapshotId: base, error: command.error }))
  },
})
