import { type Actor, newId } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { enqueueCommand } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { addressed, readyBox, waitingMs } from './ready-box.ts'

/** Asks for a snapshot that a person wants, kept as such. Throws what a box that is not ready throws. */
export async function takeSnapshot(deps: SnapshotsDeps, actor: Actor, slug: string): Promise<{ commandId: string }> {
  const { db, clock, random, bus, deadlineMs } = deps
  const commandId = newId(random, 'cmd')
  const hostId = await db.transaction().execute(async (tx) => {
    const box = await readyBox(deps, tx, slug)
    const command = { id: commandId, hostId: box.hostId, boxId: box.id, deadlineMs: deadlineMs + waitingMs }
    await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.snapshot', payload: { ...addressed(box), tier: 'manual' } })
    await recordAudit(tx, clock, { actor, action: 'snapshot.take', subject: slug, data: { commandId } })
    return box.hostId
  })
  bus.queued(hostId)
  return { commandId }
}
