import type { BoxCommandPayload, ReintroducedVulnerability } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { BoxRecord } from '../boxes/index.ts'
import type { Tx } from '../db/index.ts'
import type { Command, ResultHandlers } from '../hosts/index.ts'
import { type VulnerabilityDeps, vulnerabilitiesOf } from './restore-box.ts'
import { newestRestorable } from './retention.ts'
import { lockRepository, markRestorable, newestDamaged, newestPresent } from './snapshots.repo.ts'
import { boxOf } from './take-snapshot.ts'

type ForMove = Readonly<{
  snapshotId: string
  snapshotSha256: string | null
  takenAt: string
  damaged: boolean
  reopens: ReintroducedVulnerability[]
}>

/**
 * The newest restorable snapshot of a box on a dead host; it cannot expire until the commit. Falls back to the newest damaged one: one damaged part
 * marks every snapshot, and a restore verifies the data first. Reintroduced vulnerabilities are reported, never a reason to refuse.
 */
export const snapshotForMove =
  (deps: VulnerabilityDeps) =>
  async (tx: Tx, box: BoxRecord): Promise<ForMove | undefined> => {
    await lockRepository(tx, box.tenantId)
    const newest = (await newestRestorable(tx, box)) ?? (await newestDamaged(tx, box)) ?? (await newestPresent(tx, box))
    if (!newest) return undefined
    const { snapshot_id: snapshotId, sha256: snapshotSha256, taken_at: takenAt, status } = newest
    const reopens = await vulnerabilitiesOf({ ...deps, tx }, box, newest)
    return { snapshotId, snapshotSha256, takenAt, damaged: status === 'damaged', reopens }
  }

type Deps = Readonly<{ clock: Clock }>

/** A successful take-over verifies its snapshot, so it is stored as a restore. */
export const takeOverResults = ({ clock }: Deps): ResultHandlers => ({
  'tenant-box.take_over': async (tx, command, { outcome, durationMs }) => {
    if (outcome === 'restored') await recordTakeOver(tx, command, { ended_at: isoNow(clock), duration_ms: Math.round(durationMs) })
  },
})

type Ended = Readonly<{ ended_at: string; duration_ms: number }>

async function recordTakeOver(tx: Tx, { id, createdAt, payload, ...command }: Command, ended: Ended): Promise<void> {
  const box = await boxOf(tx, command) // results of a host that may not act on the box do not get here
  if (!box) return
  const { snapshotId } = payload as BoxCommandPayload<'tenant-box.take_over'>
  const row = { command_id: id, tenant_id: box.tenantId, box_id: box.id, slug: box.slug, snapshot_id: snapshotId }
  const added = await tx
    .insertInto('box_restores')
    .values({ ...row, reason: 'it was moved to another host', status: 'restored', asked_at: createdAt, ...ended })
    .onConflict((c) => c.column('command_id').doNothing())
    .executeTakeFirst()
  if (added.numInsertedOrUpdatedRows) await markRestorable(tx, box.tenantId, snapshotId)
}
