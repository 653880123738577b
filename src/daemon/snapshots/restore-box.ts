import type { ReopenedHole } from '../../core/boxes/index.ts'
import { type Actor, isoIn, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type BoxRecord, holdBox, lockBox } from '../boxes/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { enqueueCommand } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { holesOfSnapshot, refuseHoles } from './holes-of-snapshot.ts'
import { recordRestore } from './note-restore.ts'
import { addressed, readyBox, waitingMs } from './ready-box.ts'
import { lockRepository, type SnapshotRow, snapshotById } from './snapshots.repo.ts'

type Wanted = Readonly<{ slug: string; snapshotId: string; reason: string; allowHole: boolean }>
type Accepted = Readonly<{ commandId: string; snapshotId: string; reopens: ReopenedHole[] }>

/** Until a box is heard of again it stays held: the agent may be in the middle of it. */
const silentMs = 24 * 60 * 60_000

/** Who holds a box that is being restored. */
export const restoreHolder = (commandId: string): string => `restore:${commandId}`

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
    const box = await readyBox(deps, tx, slug)
    const snapshot = await restorable(tx, box, snapshotId)
    await holdBox(tx, clock, { boxId: box.id, holder: restoreHolder(commandId), until: isoIn(clock, expiresMs(deps) + silentMs) })
    const reopens = await holesOfSnapshot(deps, tx, box, snapshot)
    if (!allowHole) refuseHoles(slug, snapshotId, reopens)
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

const expiresMs = ({ deadlineMs }: Pick<SnapshotsDeps, 'deadlineMs'>): number => deadlineMs + waitingMs

async function enqueueRestore(deps: SnapshotsDeps, tx: Tx, { box, snapshot, commandId, reason }: Restore) {
  const { clock, probe, deadlineMs } = deps
  const { snapshot_id, sha256 } = snapshot
  const payload = { ...addressed(box), snapshotId: snapshot_id, snapshotSha256: sha256, probe, deadlineMs }
  const command = { id: commandId, hostId: box.hostId, boxId: box.id, deadlineMs: expiresMs(deps) }
  await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.restore', payload })
  await recordRestore(tx, clock, { commandId, boxId: box.id, snapshotId: snapshot_id, reason })
}
