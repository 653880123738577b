import type { BoxCommandPayload } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import type { Command, ResultHandlers } from '../hosts/index.ts'
import { boxOf } from './finish-snapshots.ts'
import { cameBack } from './snapshots.repo.ts'

type Deps = Readonly<{ clock: Clock }>

/** A box that another host made from a snapshot, counted, probed and keeps proves the snapshot like any other restore: it is written down as one. */
export const takeOverResults = ({ clock }: Deps): ResultHandlers => ({
  'tenant-box.take_over': async (tx, command, { outcome, durationMs }) => {
    if (outcome === 'restored') await note(tx, command, { ended_at: isoNow(clock), duration_ms: Math.round(durationMs) })
  },
})

type Ended = Readonly<{ ended_at: string; duration_ms: number }>

async function note(tx: Tx, { id, createdAt, payload, ...command }: Command, ended: Ended): Promise<void> {
  const box = await boxOf(tx, command) // a host that may not have it, or was called dead, is not heard
  if (!box) return
  const { snapshotId } = payload as BoxCommandPayload<'tenant-box.take_over'>
  const row = { command_id: id, tenant_id: box.tenantId, box_id: box.id, slug: box.slug, snapshot_id: snapshotId }
  const added = await tx
    .insertInto('box_restores')
    .values({ ...row, reason: 'it was moved to another host', status: 'restored', asked_at: createdAt, ...ended })
    .onConflict((c) => c.column('command_id').doNothing())
    .executeTakeFirst()
  if (added.numInsertedOrUpdatedRows) await cameBack(tx, box.tenantId, snapshotId)
}
