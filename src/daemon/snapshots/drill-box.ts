import { type Actor, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type BoxRecord, existingBox } from '../boxes/index.ts'
import type { Tx } from '../db/index.ts'
import { enqueueCommand } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { addressed, readyBox, waitingMs } from './ready-box.ts'
import { restorable } from './restore-box.ts'
import { lockRepository, newestPresent, type SnapshotRow } from './snapshots.repo.ts'

type Wanted = Readonly<{ slug: string; snapshotId?: string | undefined }>
type Accepted = Readonly<{ commandId: string; snapshotId: string }>

/** Asks for a proof that a snapshot comes back; the box itself is not touched. Throws NOT_FOUND, CONFLICT, and what a box that is not ready throws. */
export async function drillBox(deps: SnapshotsDeps, actor: Actor, { slug, snapshotId }: Wanted): Promise<Accepted> {
  const { db, clock, bus } = deps
  const asked = await db.transaction().execute(async (tx) => {
    await lockRepository(tx, (await existingBox(tx, slug)).tenantId)
    const box = await readyBox(deps, tx, slug)
    const snapshot = snapshotId === undefined ? await newestPresent(tx, box.tenantId, 'complete') : await restorable(tx, box, snapshotId)
    if (!snapshot) throw problem('NOT_FOUND', `there is no complete snapshot of ${slug}: \`tenantry snapshots take ${slug}\` takes one`)
    const commandId = await enqueueDrill(deps, tx, box, snapshot)
    const data = { commandId, snapshotId: snapshot.snapshot_id }
    await recordAudit(tx, clock, { actor, action: 'box.drill', subject: slug, data })
    return { hostId: box.hostId, ...data }
  })
  bus.queued(asked.hostId)
  return { commandId: asked.commandId, snapshotId: asked.snapshotId }
}

type Queue = Pick<SnapshotsDeps, 'clock' | 'random' | 'deadlineMs'>

export async function enqueueDrill({ clock, random, deadlineMs }: Queue, tx: Tx, box: BoxRecord, snapshot: SnapshotRow): Promise<string> {
  const id = newId(random, 'cmd')
  const payload = { ...addressed(box), snapshotId: snapshot.snapshot_id, snapshotSha256: snapshot.sha256, deadlineMs }
  const command = { id, hostId: box.hostId, boxId: box.id, deadlineMs: deadlineMs + waitingMs }
  await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.drill', payload })
  return id
}
