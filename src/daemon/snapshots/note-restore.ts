import type { BoxId } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { boxById } from '../boxes/index.ts'
import type { Tx } from '../db/index.ts'

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
