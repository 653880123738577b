import type { CompletedUpdate } from '../../../core/rollouts/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { registeredSnapshots } from '../../snapshots/index.ts'

type Query = Readonly<{ rolloutId: string; slug?: string }>

/**
 * The successful updates of a rollout, from the evidence of their attempts; with `slug` only that box, also while its rollback runs. A box
 * that was updated twice counts by its last attempt.
 */
export async function completedUpdates(db: DbOrTx, query: Query): Promise<CompletedUpdate[]> {
  const rows = await successfulAttempts(db, query)
  const last = new Map(rows.map((row) => [row.slug, row])) // ascending by attempt: the last one wins
  const known = await registeredSnapshots(
    db,
    [...last.values()].map(({ box_id, snapshot_id }) => ({ boxId: box_id, snapshotId: snapshot_id ?? '' })),
  )
  return [...last.values()].map((row) => {
    const snapshot = known.get(`${row.box_id}/${row.snapshot_id}`)
    return {
      slug: row.slug,
      boxId: row.box_id,
      hostId: row.host_id,
      finishedAt: row.finished_at ?? row.started_at,
      from: JSON.parse(row.from_versions),
      to: JSON.parse(row.to_versions),
      imagesBefore: JSON.parse(row.images_before),
      digestsBefore: JSON.parse(row.digests_before),
      digestsAfter: JSON.parse(row.digests_after),
      backgroundBefore: JSON.parse(row.background_before ?? '[]'),
      snapshot: snapshot ? { ...snapshot, sha256: snapshot.sha256 ?? row.snapshot_sha256 } : null,
    }
  })
}

function successfulAttempts(db: DbOrTx, { rolloutId, slug }: Query) {
  const query = db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollout_attempts as attempt', 'attempt.action_id', 'action.id')
    .select(['action.slug', 'action.box_id', 'action.host_id', 'action.from_versions', 'action.to_versions'])
    .select(['attempt.images_before', 'attempt.digests_before', 'attempt.digests_after', 'attempt.started_at', 'attempt.finished_at'])
    .select(['attempt.background_before', 'attempt.snapshot_id', 'attempt.snapshot_sha256'])
    .where('action.rollout_id', '=', rolloutId)
    .where('attempt.kind', '=', 'update')
    .where('attempt.status', '=', 'succeeded')
    .orderBy('attempt.attempt')
  return (slug === undefined ? query.where('action.status', '=', 'succeeded') : query.where('action.slug', '=', slug)).execute()
}
