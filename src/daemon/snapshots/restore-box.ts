import { alertOf, closedByRestore } from '../../core/alerts/index.ts'
import {
  type AgentError,
  type BoxId,
  InstalledVersions,
  type ReintroducedVulnerability,
  type RestoreResult,
  reintroducedVulnerabilities,
  vulnerabilitiesText,
} from '../../core/boxes/index.ts'
import { type Actor, type Clock, isoIn, isoNow, newId, problem, type SystemActor } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type BoxRecord, boxById, holdBox, lockBox, releaseHold } from '../boxes/index.ts'
import { appendEvent, type DbOrTx, type Tx } from '../db/index.ts'
import { type Command, enqueueCommand, type FailureHandlers, type ResultHandlers } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { lockRepository, markRestorable, recordSnapshot, type SnapshotRow, snapshotById } from './snapshots.repo.ts'
import type { BoxRestoreStatus } from './snapshots.tables.ts'
import { boxAddress, boxOf, getReadyBox, queueGraceMs, takenBy, takenFacts } from './take-snapshot.ts'

type Wanted = Readonly<{ slug: string; snapshotId: string; reason: string; allowHole: boolean }>
type Accepted = Readonly<{ commandId: string; snapshotId: string; reopens: ReintroducedVulnerability[] }>

/** Until a box is heard of again it stays held: the agent may be in the middle of it. */
const silentMs = 24 * 60 * 60_000

/** Who holds a box that is being restored. */
const restoreOwner = (commandId: string): string => `restore:${commandId}`

/** Boxes that are being brought back to a snapshot, or may be: also where the hold is over, its agent may only not have told yet. */
export async function slugsBeingRestored(db: DbOrTx): Promise<string[]> {
  const open = db.selectFrom('box_restores').innerJoin('boxes', 'boxes.id', 'box_restores.box_id').where('boxes.live', '=', 1)
  const rows = await open.where('box_restores.status', 'in', ['open', 'unheard']).select('boxes.slug').execute()
  return rows.map(({ slug }) => slug)
}

/**
 * Asks for a box to be brought back to a snapshot, and holds the box until its agent has told how that ended. Throws NOT_FOUND for a snapshot
 * that is not of this tenant, CONFLICT for one that is gone, REOPENS_HOLE for one from before an emergency unless that is allowed, and what a
 * box that is not ready throws.
 */
export async function restoreBox(deps: SnapshotsDeps, actor: Actor, { slug, snapshotId, reason, allowHole }: Wanted): Promise<Accepted> {
  const { db, clock, random, bus } = deps
  const commandId = newId(random, 'cmd')
  const { hostId, reopens } = await db.transaction().execute(async (tx) => {
    await lockRepository(tx, (await lockBox(tx, slug)).tenantId)
    const box = await getReadyBox(deps, tx, slug)
    const snapshot = await restorable(tx, box, snapshotId)
    await holdBox(tx, clock, { boxId: box.id, holder: restoreOwner(commandId), until: isoIn(clock, expiresMs(deps) + silentMs) })
    const reopens = await vulnerabilitiesOf(deps, tx, box, snapshot)
    if (!allowHole) assertNoVulnerabilities(slug, snapshotId, reopens)
    await enqueueRestore(deps, tx, { box, snapshot, commandId, reason })
    const data = { commandId, snapshotId, takenAt: snapshot.taken_at, reason, ...(reopens.length > 0 ? { reopens } : {}) }
    await recordAudit(tx, clock, { actor, action: 'box.restore', subject: slug, data })
    return { hostId: box.hostId, reopens }
  })
  bus.queued(hostId)
  return { commandId, snapshotId, reopens }
}

/** Throws NOT_FOUND, CONFLICT. A damaged one may be tried: it can be all there is. */
export async function restorable(tx: Tx, { tenantId, slug }: BoxRecord, snapshotId: string): Promise<SnapshotRow> {
  const snapshot = await snapshotById(tx, tenantId, snapshotId)
  if (!snapshot)
    throw problem('NOT_FOUND', `there is no snapshot ${snapshotId} of ${slug}: \`tenantry snapshots list --slug ${slug}\` shows all`)
  if (snapshot.status === 'forgotten')
    throw problem('CONFLICT', `the snapshot ${snapshotId} of ${slug} was given up by retention: choose another`)
  if (snapshot.status === 'missing')
    throw problem('CONFLICT', `the snapshot ${snapshotId} of ${slug} is missing from its repository: choose another, and look at the store`)
  return snapshot
}

type Restore = Readonly<{ box: BoxRecord; snapshot: SnapshotRow; commandId: string; reason: string }>

const expiresMs = ({ deadlineMs }: Pick<SnapshotsDeps, 'deadlineMs'>): number => deadlineMs + queueGraceMs

async function enqueueRestore(deps: SnapshotsDeps, tx: Tx, { box, snapshot, commandId, reason }: Restore) {
  const { clock, probe, deadlineMs } = deps
  const { snapshot_id, sha256 } = snapshot
  const payload = { ...boxAddress(box), snapshotId: snapshot_id, snapshotSha256: sha256, probe, deadlineMs }
  const command = { id: commandId, hostId: box.hostId, boxId: box.id, deadlineMs: expiresMs(deps) }
  await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.restore', payload })
  await recordRestore(tx, clock, { commandId, boxId: box.id, snapshotId: snapshot_id, reason })
}

type Noted = Readonly<{ commandId: string; boxId: string; snapshotId: string; reason: string }>

/**
 * A restore that another room has ordered is a restore like any other: its snapshot is kept meanwhile, how it ended is told, and a good one
 * proves the snapshot. Whoever ordered it holds the box.
 */
export async function recordRestore(tx: Tx, clock: Clock, { commandId, boxId, snapshotId, reason }: Noted): Promise<void> {
  const box = await boxById(tx, boxId as BoxId)
  if (!box) return
  const asked = { command_id: commandId, tenant_id: box.tenantId, box_id: box.id, slug: box.slug, snapshot_id: snapshotId, reason }
  await tx
    .insertInto('box_restores')
    .values({ ...asked, status: 'open', asked_at: isoNow(clock), ended_at: null, duration_ms: null })
    .execute()
}

type Deps = Readonly<{ clock: Clock }>
type Told = Readonly<{ snapshotId?: string; durationMs?: number; error: AgentError | null }>

/** A restore is over when its agent said how it ended; the box is free again then, however that was. */
export const restoreResults = (deps: Deps): ResultHandlers => ({
  'tenant-box.restore': async (tx, command, result) => {
    await keepFormer(deps, tx, command, result)
    const { outcome, durationMs, error } = result
    await end(deps, tx, command, outcome, { durationMs, error })
  },
})

/**
 * A restore that its agent took and that nobody heard of since may be under way: the box stays held, for a day at most, and the agent's own word
 * is taken in when it comes.
 */
export const restoreFailures = (deps: Deps): FailureHandlers => ({
  'tenant-box.restore': (tx, command, { reported }) => {
    const isKnown = reported || command.leaseToken === 0
    return end(deps, tx, command, isKnown ? 'failed' : 'unheard', { error: command.error })
  },
})

/** What a restore replaced is a snapshot of its own. */
async function keepFormer({ clock }: Deps, tx: Tx, command: Command, { preRestore }: RestoreResult): Promise<void> {
  const box = await boxOf(tx, command)
  if (!preRestore || !box) return
  await recordSnapshot(tx, clock, box, { ...takenFacts(preRestore), tier: 'pre-restore', ...takenBy(command) })
}

type Ended = Readonly<{ slug: string; snapshot_id: string }>

/** A box that rests shut is for a person to hear of at once, and not when its fence has stood for hours. */
async function wake({ clock }: Deps, tx: Tx, { slug, snapshot_id: snapshotId }: Ended, status: BoxRestoreStatus, error: Told['error']) {
  if (status === 'restore_failed') await raiseAlert(tx, clock, alertOf.restore_failed({ slug, snapshotId, error }))
  if (status !== 'restored') return
  await closeAlerts(tx, clock, { subject: slug, kinds: ['restore_failed', ...closedByRestore], because: 'the box was restored' })
}

const actor: SystemActor = { kind: 'system', name: 'snapshots' }

async function end({ clock }: Deps, tx: Tx, command: Command, status: BoxRestoreStatus, { durationMs, error }: Told): Promise<void> {
  const ended = await tx
    .updateTable('box_restores')
    .set({
      status,
      ended_at: status === 'unheard' ? null : isoNow(clock),
      duration_ms: durationMs === undefined ? null : Math.round(durationMs),
    })
    .where('command_id', '=', command.id)
    .where('status', 'in', ['open', 'unheard'])
    .returning(['slug', 'tenant_id', 'snapshot_id'])
    .executeTakeFirst()
  if (!ended) return
  const boxId = command.boxId as BoxId
  if (status === 'restored') await markRestorable(tx, ended.tenant_id, ended.snapshot_id)
  if (status !== 'unheard') await releaseHold(tx, { boxId, holder: restoreOwner(command.id) })
  const data = { boxId, commandId: command.id, snapshotId: ended.snapshot_id, outcome: status, error }
  const eventType = status === 'restored' ? 'box.restored' : 'box.restore_failed'
  await wake({ clock }, tx, ended, status, error)
  await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType, payload: { slug: ended.slug, ...data } })
  await recordAudit(tx, clock, { actor, action: eventType, subject: ended.slug, data })
}

export type VulnerabilityDeps = Pick<SnapshotsDeps, 'fixes' | 'versionsBefore'>

/** The holes that a box has again with a snapshot. One of which nobody knows what it holds has those of emergencies that were not over when it was taken. */
export async function vulnerabilitiesOf(
  deps: VulnerabilityDeps,
  tx: Tx,
  box: BoxRecord,
  snapshot: SnapshotRow,
): Promise<ReintroducedVulnerability[]> {
  const fixes = await deps.fixes(tx)
  const to = await versionsIn(deps, tx, snapshot)
  const about = to ? fixes : fixes.filter(({ overAt }) => overAt === null || snapshot.taken_at <= overAt)
  return reintroducedVulnerabilities(about, { from: box.installed, to })
}

async function versionsIn(
  { versionsBefore }: VulnerabilityDeps,
  tx: Tx,
  { installed, command_id }: SnapshotRow,
): Promise<InstalledVersions | null> {
  if (installed !== null) return InstalledVersions.parse(JSON.parse(installed))
  return command_id === null ? null : versionsBefore(tx, command_id)
}

/** Throws REOPENS_HOLE. */
function assertNoVulnerabilities(slug: string, snapshotId: string, holes: readonly ReintroducedVulnerability[]): void {
  if (holes.length === 0) return
  throw problem(
    'REOPENS_HOLE',
    `with the snapshot ${snapshotId.slice(0, 8)} ${slug} would have ${vulnerabilitiesText(holes)} again: choose a newer snapshot, or, where its data ` +
      `matter more, say so with \`--allow-hole\` (allowHole) and close it at once: \`tenantry rollouts create --target ${slug} --start\``,
  )
}

/** Commands of restores whose agent was not heard of: it may still tell. */
export async function commandsOfRestores(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('box_restores').select('command_id').where('status', 'in', ['open', 'unheard']).execute()
  return rows.map((row) => row.command_id)
}
