import { type Actor, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { boxBySlug, existingBox } from '../boxes/index.ts'
import type { Tx } from '../db/index.ts'
import { forgetArchives } from './archive.repo.ts'
import type { SnapshotsDeps } from './deps.ts'
import { recordStoreBack } from './lost-stores.ts'
import { lockRepository, repositoryRow, type SnapshotOwner, setSnapshotStatus, snapshotsOf } from './snapshots.repo.ts'

type Input = Readonly<{ slug: string; reason: string }>

/**
 * Abandons the snapshots and the archive of a box whose repository is gone for good, so that the next snapshot may create a new one, and so that the tenant of
 * an erased box can be deleted. Throws NOT_FOUND, and CONFLICT unless all of them are missing.
 */
export async function abandonSnapshots(
  { db, clock }: Pick<SnapshotsDeps, 'db' | 'clock'>,
  actor: Actor,
  { slug, reason }: Input,
): Promise<{ abandoned: number }> {
  return db.transaction().execute(async (tx) => {
    const box = (await lastErasedBox(tx, slug)) ?? (await existingBox(tx, slug))
    const { tenantId } = box
    await lockRepository(tx, tenantId)
    const { lost_at } = await repositoryRow(tx, tenantId)
    const rows = await snapshotsOf(tx, [tenantId])
    const there = rows.find(({ status }) => status === 'present' || status === 'damaged')
    const missing = rows.filter(({ status }) => status === 'missing').map(({ snapshot_id }) => snapshot_id)
    if (there || (missing.length === 0 && lost_at === null))
      throw problem(
        'CONFLICT',
        there
          ? `the repository of ${slug} was not reported as gone: snapshot ${there.snapshot_id.slice(0, 8)} is ${there.status}. fix: \`tenantry crons run snapshot-check\`, which reads it again`
          : `${slug} has no missing snapshots`,
      )
    await setSnapshotStatus(tx, { tenantId, ids: missing, from: ['missing'] }, { status: 'forgotten', damaged_by: null })
    await forgetArchives(tx, tenantId)
    await recordStoreBack({ tx, clock }, box, `the snapshots of ${slug} were abandoned`)
    await tx.updateTable('snapshot_repositories').set({ repository_id: null }).where('tenant_id', '=', tenantId).execute()
    await recordAudit(tx, clock, { actor, action: 'snapshots.abandoned', subject: slug, data: { ids: missing, reason } })
    return { abandoned: missing.length }
  })
}

/** An erased box that no other has replaced. */
async function lastErasedBox(tx: Tx, slug: string): Promise<SnapshotOwner | undefined> {
  if (await boxBySlug(tx, slug)) return undefined
  const query = tx.selectFrom('boxes').select(['id', 'slug', 'tenant_id']).where('slug', '=', slug).orderBy('created_at', 'desc')
  const row = await query.executeTakeFirst()
  return row && { id: row.id, slug, tenantId: row.tenant_id }
}
