import type { SnapshotTier } from '../../core/boxes/index.ts'
import { pageOf } from '../../core/contract/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { Snapshot, SnapshotStatus } from '../../core/snapshots/index.ts'
import type { Db } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { lastDrills, type Proof } from './proofs.ts'
import { evaluateSnapshots } from './retention.ts'
import type { SnapshotRow } from './snapshots.repo.ts'

type Deps = Pick<SnapshotsDeps, 'db' | 'clock' | 'rule' | 'references'>
type Query = Readonly<{
  limit: number
  cursor?: string | undefined
  slug?: string | undefined
  tier?: SnapshotTier | undefined
  status?: SnapshotStatus | undefined
  id?: string | undefined
}>

/** A page of snapshots, newest first, with the reason for retention and the last drill. */
export async function listSnapshots(deps: Deps, query: Query): Promise<{ snapshots: Snapshot[]; nextCursor: string | null }> {
  const { db } = deps
  const { page, nextCursor } = pageOf(await readPage(db, query), query.limit, ({ taken_at, snapshot_id }) => `${taken_at}_${snapshot_id}`)
  const { verdicts, proofOf } = await evaluateSnapshots(deps, db, [...new Set(page.map(({ tenant_id }) => tenant_id))])
  const drillOf = await lastDrills(
    db,
    page.map(({ snapshot_id }) => snapshot_id),
  )
  return {
    snapshots: page.map((row) => ({
      ...viewOf(row),
      keptBecause: verdicts.get(row.tenant_id)?.kept.get(row.snapshot_id) ?? null,
      lastDrill: drillView(drillOf(row.tenant_id, row.snapshot_id)),
      lastProof: proofView(proofOf(row.tenant_id, row.snapshot_id)),
    })),
    nextCursor,
  }
}

async function readPage(db: Db, { limit, cursor, slug, tier, status, id }: Query): Promise<SnapshotRow[]> {
  let query = db
    .selectFrom('snapshots')
    .selectAll()
    .orderBy('taken_at', 'desc')
    .orderBy('snapshot_id', 'desc')
    .limit(limit + 1)
  if (slug !== undefined) query = query.where('slug', '=', slug)
  if (tier !== undefined) query = query.where('tier', '=', tier)
  if (status !== undefined) query = query.where('status', '=', status)
  if (id !== undefined) query = query.where('snapshot_id', 'like', `${id}%`)
  if (cursor !== undefined) {
    const { takenAt, snapshotId } = readCursor(cursor)
    query = query.where((where) =>
      where.or([where('taken_at', '<', takenAt), where.and([where('taken_at', '=', takenAt), where('snapshot_id', '<', snapshotId)])]),
    )
  }
  return query.execute()
}

function readCursor(cursor: string): { takenAt: string; snapshotId: string } {
  const [, takenAt, snapshotId] = /^([0-9TZ:.-]+)_([0-9a-f]+)$/.exec(cursor) ?? []
  if (takenAt && snapshotId) return { takenAt, snapshotId }
  throw problem('VALIDATION', 'cursor: must be the nextCursor of the previous page', {
    details: [{ path: 'cursor', reason: 'must be the nextCursor of the previous page' }],
  })
}

/** PostgreSQL returns bigint columns as text. */
const numberOf = (value: number | null) => (value === null ? null : Number(value))

const viewOf = (row: SnapshotRow): Omit<Snapshot, 'keptBecause' | 'lastDrill' | 'lastProof'> => ({
  snapshotId: row.snapshot_id,
  slug: row.slug,
  boxId: row.box_id,
  tier: row.tier,
  takenAt: row.taken_at,
  commandId: row.command_id,
  snapshotSha256: row.sha256,
  addedBytes: numberOf(row.added_bytes),
  files: row.files,
  durationMs: numberOf(row.duration_ms),
  installed: row.installed === null ? null : JSON.parse(row.installed),
  status: row.status,
})

type Drill = ReturnType<Awaited<ReturnType<typeof lastDrills>>>

const drillView = (drill: Drill): Snapshot['lastDrill'] =>
  drill
    ? {
        at: drill.at,
        ok: drill.ok === 1,
        durationMs: numberOf(drill.duration_ms),
        restoreMs: numberOf(drill.restore_ms),
        error: drill.error === null ? null : JSON.parse(drill.error),
        media: drill.media === null ? null : JSON.parse(drill.media),
      }
    : null

const proofView = (proof: Proof | undefined): Snapshot['lastProof'] => (proof ? { at: proof.at, durationMs: proof.durationMs } : null)
