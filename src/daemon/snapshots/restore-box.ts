import { alertKey, reasonText } from '../../core/alerts/index.ts'
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
import { appendEvent, type DbOrTx, type Tx, type WithTx } from '../db/index.ts'
import { type Command, enqueueCommand, type FailureHandlers, type ResultHandlers } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { lockRepository, markRestorable, recordSnapshot, type SnapshotRow, snapshotById } from './snapshots.repo.ts'
import type { BoxRestoreStatus } from './snapshots.tables.ts'
import { boxAddress, boxOf, getReadyBox, queueGraceMs, takenBy, takenFacts } from './take-snapshot.ts'

type Input = Readonly<{ slug: string; snapshotId: string; reason: string; allowHole: boolean }>
type Accepted = Readonly<{ commandId: string; snapshotId: string; reopens: ReintroducedVulnerability[] }>

/** How long the hold outlasts the command: the agent may still be restoring. */
const unresolvedMs = 24 * 60 * 60_000

/** The owner of the hold of a restore. */
const restoreOwner = (commandId: string): string => `restore:${commandId}`

/** Boxes with an open or unresolved restore, also after the hold has expired. */
export async function slugsBeingRestored(db: DbOrTx): Promise<string[]> {
  const open = db.selectFrom('box_restores').innerJoin('boxes', 'boxes.id', 'box_restores.box_id').where('boxes.live', '=', 1)
  const rows = await open.where('box_restores.status', 'in', ['open', 'unheard']).select('boxes.slug').execute()
  return rows.map(({ slug }) => slug)
}

/**
 * Starts a restore and takes a hold on the box until its agent reports the end. Throws NOT_FOUND for a snapshot of another tenant, CONFLICT for a deleted one,
 * REINTRODUCES_CVE for one that reintroduces a vulnerability unless allowed, and what `getReadyBox` throws.
 */
export async function restoreBox(deps: SnapshotsDeps, actor: Actor, { slug, snapshotId, reason, allowHole }: Input): Promise<Accepted> {
  const { db, clock, random, bus } = deps
  const commandId = newId(random, 'cmd')
  const { hostId, reopens } = await db.transaction().execute(async (tx) => {
    await lockRepository(tx, (await lockBox(tx, slug)).tenantId)
    const box = await getReadyBox(deps, tx, slug)
    const snapshot = await restorable(tx, box, snapshotId)
    await holdBox(tx, clock, { boxId: box.id, holder: restoreOwner(commandId), until: isoIn(clock, expiresMs(deps) + unresolvedMs) })
    const reopens = await vulnerabilitiesOf({ ...deps, tx }, box, snapshot)
    if (!allowHole) assertNoVulnerabilities(slug, snapshotId, reopens)
    await enqueueRestore(deps, tx, { box, snapshot, commandId, reason })
    const data = { commandId, snapshotId, takenAt: snapshot.taken_at, reason, ...(reopens.length > 0 ? { reopens } : {}) }
    await recordAudit(tx, clock, { actor, action: 'box.restore', subject: slug, data })
    return { hostId: box.hostId, reopens }
  })
  bus.queued(hostId)
  return { commandId, snapshotId, reopens }
}

/** The snapshot, if it can be restored; a damaged one may be tried. Throws NOT_FOUND, CONFLICT. */
export async function restorable(tx: Tx, { tenantId, slug }: BoxRecord, snapshotId: string): Promise<SnapshotRow> {
  const snapshot = await snapshotById(tx, tenantId, snapshotId)
  if (!snapshot)
    throw problem('NOT_FOUND', `snapshot ${snapshotId} of ${slug} does not exist. fix: \`tenantry snapshots list --slug ${slug}\``)
  if (snapshot.status === 'forgotten')
    throw problem('CONFLICT', `snapshot ${snapshotId} of ${slug} has expired. fix: choose another snapshot`)
  if (snapshot.status === 'missing')
    throw problem(
      'CONFLICT',
      `snapshot ${snapshotId} of ${slug} is missing from its repository. fix: choose another snapshot, and check the store`,
    )
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

type NewRestore = Readonly<{ commandId: string; boxId: string; snapshotId: string; reason: string }>

/** Stores a restore of this or another feature, so that its snapshot is retained and its outcome recorded. The caller holds the box. */
export async function recordRestore(tx: Tx, clock: Clock, { commandId, boxId, snapshotId, reason }: NewRestore): Promise<void> {
  const box = await boxById(tx, boxId as BoxId)
  if (!box) return
  const row = { command_id: commandId, tenant_id: box.tenantId, box_id: box.id, slug: box.slug, snapshot_id: snapshotId, reason }
  await tx
    .insertInto('box_restores')
    .values({ ...row, status: 'open', asked_at: isoNow(clock), ended_at: null, duration_ms: null })
    .execute()
}

type Deps = Readonly<{ clock: Clock }>
type Outcome = Readonly<{ snapshotId?: string; durationMs?: number; error: AgentError | null }>

/** Ends a restore and releases the hold when its agent reports the result. */
export const restoreResults = (deps: Deps): ResultHandlers => ({
  'tenant-box.restore': async (tx, command, result) => {
    await recordFormer({ ...deps, tx }, command, result)
    const { outcome, durationMs, error } = result
    await end(deps, tx, { command, status: outcome, durationMs, error })
  },
})

/**
 * A restore without a result from an agent that fetched it may still run: it becomes `unheard`, the hold stays for up to a day, and a late result is
 * accepted. One that its agent lost has failed.
 */
export const restoreFailures = (deps: Deps): FailureHandlers => ({
  'tenant-box.restore': (tx, command, { reported, lost }) => {
    const isKnown = reported || lost || command.leaseToken === 0
    return end(deps, tx, { command, status: isKnown ? 'failed' : 'unheard', error: command.error })
  },
})

/** Registers the snapshot of the data that the restore replaced. */
async function recordFormer({ clock, tx }: WithTx<Deps>, command: Command, { preRestore }: RestoreResult): Promise<void> {
  const box = await boxOf(tx, command)
  if (!preRestore || !box) return
  await recordSnapshot({ tx, clock }, box, { ...takenFacts(preRestore), tier: 'pre-restore', ...takenBy(command) })
}

type Ended = Readonly<{ slug: string; snapshot_id: string }>

/** Raises an alert at once for a box that a failed restore left quarantined. */
async function updateAlerts(
  { clock }: Deps,
  tx: Tx,
  { slug, snapshot_id: snapshotId, status, error }: Ended & Readonly<{ status: BoxRestoreStatus; error: Outcome['error'] }>,
) {
  if (status === 'restore_failed')
    await raiseAlert(tx, clock, {
      kind: 'box_down',
      key: alertKey('box_down', `restore:${slug}`),
      subject: slug,
      title: `${slug} is DOWN: restore failed`,
      body:
        `The restore to snapshot ${snapshotId.slice(0, 8)} failed, and so did the return to the previous data. ${reasonText(error)}\n` +
        'Users see a maintenance page. Both sets of volumes are kept: remove none. Fix the cause, then restore again.',
      command: `tenantry boxes show ${slug}`,
    })
  if (status !== 'restored') return
  await closeAlerts(tx, clock, { subject: slug, kinds: ['box_down', 'update_failed'], because: 'the box was restored' })
}

const actor: SystemActor = { kind: 'system', name: 'snapshots' }

const unended = ['open', 'unheard'] as const

/** An agent that could not finish reports a failure, and later how the restore ended. */
const replacedBy = (status: BoxRestoreStatus): readonly BoxRestoreStatus[] =>
  status === 'restored' || status === 'restore_failed' ? [...unended, 'failed'] : unended

type EndOf = Outcome & Readonly<{ command: Command; status: BoxRestoreStatus }>

async function end({ clock }: Deps, tx: Tx, { command, status, durationMs, error }: EndOf): Promise<void> {
  const ended = await tx
    .updateTable('box_restores')
    .set({
      status,
      ended_at: status === 'unheard' ? null : isoNow(clock),
      duration_ms: durationMs === undefined ? null : Math.round(durationMs),
    })
    .where('command_id', '=', command.id)
    .where('status', 'in', replacedBy(status))
    .returning(['slug', 'tenant_id', 'snapshot_id'])
    .executeTakeFirst()
  if (!ended) return
  const boxId = command.boxId as BoxId
  if (status === 'restored') await markRestorable(tx, ended.tenant_id, ended.snapshot_id)
  if (status !== 'unheard') await releaseHold(tx, { boxId, holder: restoreOwner(command.id) })
  const data = { boxId, commandId: command.id, snapshotId: ended.snapshot_id, outcome: status, error }
  const eventType = status === 'restored' ? 'box.restored' : 'box.restore_failed'
  await updateAlerts({ clock }, tx, { ...ended, status, error })
  await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType, payload: { slug: ended.slug, ...data } })
  await recordAudit(tx, clock, { actor, action: eventType, subject: ended.slug, data })
}

export type VulnerabilityDeps = Pick<SnapshotsDeps, 'fixes' | 'versionsBefore'>

/** The vulnerabilities that a snapshot reintroduces. With unknown versions, those of emergencies that were open when it was taken. */
export async function vulnerabilitiesOf(
  deps: WithTx<VulnerabilityDeps>,
  box: BoxRecord,
  snapshot: SnapshotRow,
): Promise<ReintroducedVulnerability[]> {
  const { tx } = deps
  const fixes = await deps.fixes(tx)
  const to = await versionsIn(deps, tx, snapshot)
  const relevant = to ? fixes : fixes.filter(({ overAt }) => overAt === null || snapshot.taken_at <= overAt)
  return reintroducedVulnerabilities(relevant, { from: box.installed, to })
}

async function versionsIn(
  { versionsBefore }: VulnerabilityDeps,
  tx: Tx,
  { installed, command_id }: SnapshotRow,
): Promise<InstalledVersions | null> {
  if (installed !== null) return InstalledVersions.parse(JSON.parse(installed))
  return command_id === null ? null : versionsBefore(tx, command_id)
}

/** Throws REINTRODUCES_CVE. */
function assertNoVulnerabilities(slug: string, snapshotId: string, found: readonly ReintroducedVulnerability[]): void {
  if (found.length === 0) return
  throw problem(
    'REINTRODUCES_CVE',
    `snapshot ${snapshotId.slice(0, 8)} of ${slug} reintroduces ${vulnerabilitiesText(found)}. ` +
      `fix: choose a newer snapshot, or pass \`--allow-vulnerable\` (allowHole), then \`tenantry rollouts create --target ${slug} --start\``,
  )
}

/** Commands of open and unresolved restores. */
export async function commandsOfRestores(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('box_restores').select('command_id').where('status', 'in', ['open', 'unheard']).execute()
  return rows.map((row) => row.command_id)
}
