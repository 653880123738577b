import { type DrillResult, provenDrill } from '../../core/boxes/index.ts'
import { type Actor, type Clock, isoNow, newId, problem } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type BoxRecord, existingBox } from '../boxes/index.ts'
import { appendEvent, type WithTx } from '../db/index.ts'
import { type Command, enqueueCommand, type FailureHandlers, type ResultHandlers } from '../hosts/index.ts'
import { drillFailed, drillKey } from './alerts.ts'
import type { SnapshotsDeps } from './deps.ts'
import { isLost } from './lost-stores.ts'
import { restorable } from './restore-box.ts'
import { lockRepository, markRestorable, newestReported, type SnapshotRow, setSnapshotStatus } from './snapshots.repo.ts'
import { boxAddress, boxOf, getReadyBox, queueGraceMs } from './take-snapshot.ts'

type Input = Readonly<{ slug: string; snapshotId?: string | undefined }>
type Accepted = Readonly<{ commandId: string; snapshotId: string }>

/** Starts a drill: a test-restore in isolation from the box. Throws NOT_FOUND, CONFLICT, and what `getReadyBox` throws. */
export async function drillBox(deps: SnapshotsDeps, actor: Actor, { slug, snapshotId }: Input): Promise<Accepted> {
  const { db, clock, bus } = deps
  const started = await db.transaction().execute(async (tx) => {
    await lockRepository(tx, (await existingBox(tx, slug)).tenantId)
    const box = await getReadyBox(deps, tx, slug)
    const snapshot = snapshotId === undefined ? await newestReported(tx, box) : await restorable(tx, box, snapshotId)
    if (!snapshot) throw problem('NOT_FOUND', `${slug} has no complete snapshot. fix: \`tenantry snapshots take ${slug}\``)
    const commandId = await enqueueDrill({ ...deps, tx }, box, snapshot)
    const data = { commandId, snapshotId: snapshot.snapshot_id }
    await recordAudit(tx, clock, { actor, action: 'box.drill', subject: slug, data })
    return { hostId: box.hostId, ...data }
  })
  bus.queued(started.hostId)
  return { commandId: started.commandId, snapshotId: started.snapshotId }
}

type Queue = Pick<SnapshotsDeps, 'clock' | 'random' | 'deadlineMs'>

export async function enqueueDrill(
  { clock, random, deadlineMs, tx }: WithTx<Queue>,
  box: BoxRecord,
  snapshot: SnapshotRow,
): Promise<string> {
  const id = newId(random, 'cmd')
  const payload = { ...boxAddress(box), snapshotId: snapshot.snapshot_id, snapshotSha256: snapshot.sha256, deadlineMs }
  const command = { id, hostId: box.hostId, boxId: box.id, deadlineMs: deadlineMs + queueGraceMs }
  await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.drill', payload })
  return id
}

type Deps = Readonly<{ clock: Clock }>
type Found = Pick<DrillResult, 'ok' | 'error' | 'media'> & Readonly<{ durationMs: number | null; restoreMs: number | null }>

/** Stores the result of a drill with its snapshot. */
export const drillResults = (deps: Deps): ResultHandlers => ({
  'tenant-box.drill': (tx, command, result) => recordDrill({ ...deps, tx }, command, provenDrill(result)),
})

/** A drill that could not run is stored as failed, but does not mark the snapshot as damaged. */
export const drillFailures = (deps: Deps): FailureHandlers => ({
  'tenant-box.drill': (tx, command) =>
    recordDrill({ ...deps, tx }, command, { ok: false, durationMs: null, restoreMs: null, media: null, error: command.error }),
})

const rounded = (ms: number | null) => (ms === null ? null : Math.round(ms))

async function recordDrill({ clock, tx }: WithTx<Deps>, command: Command, found: Found): Promise<void> {
  const { ok, durationMs, restoreMs, error, media } = found
  const box = await boxOf(tx, command)
  if (!box) return
  const { snapshotId } = command.payload as { snapshotId: string }
  const times = { at: isoNow(clock), duration_ms: rounded(durationMs), restore_ms: rounded(restoreMs) }
  const row = { ...times, ok: ok ? 1 : 0, error: error && JSON.stringify(error), media: media ? JSON.stringify(media) : null }
  await tx
    .insertInto('snapshot_drills')
    .values({ command_id: command.id, tenant_id: box.tenantId, snapshot_id: snapshotId, ...row })
    .onConflict((c) => c.column('command_id').doUpdateSet(row))
    .execute()
  if (ok) await markRestorable(tx, box.tenantId, snapshotId)
  if (!ok && isDamage(error))
    await setSnapshotStatus(
      tx,
      { tenantId: box.tenantId, ids: [snapshotId], from: ['present'] },
      { status: 'damaged', damaged_by: 'drill' },
    )
  if (ok) await closeAlerts(tx, clock, { keys: [drillKey(box.slug)], because: 'a drill succeeded' })
  // A lost store has an alert of its own.
  else if (!isLost(error)) await raiseAlert(tx, clock, drillFailed({ slug: box.slug, snapshotId, error: error ?? null }))
  const payload = { boxId: box.id, slug: box.slug, snapshotId, commandId: command.id, restoreMs, error }
  await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: ok ? 'box.drilled' : 'box.drill_failed', payload })
}

/** True if the error is damage of the snapshot itself; a full disk or an unavailable store is not. */
const isDamage = (error: DrillResult['error']) => error?.code === 'RESTORE_FAILED'
