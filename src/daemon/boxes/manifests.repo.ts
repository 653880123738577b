import type { Manifest, ManifestRevision } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { ManifestTable } from './boxes.tables.ts'

const toRevision = (row: ManifestTable): ManifestRevision => ({
  revision: row.revision,
  manifest: JSON.parse(row.content) as Manifest,
  appliedAt: row.applied_at,
  appliedBy: row.applied_by,
})

/** The newest revision, or undefined before the first import. */
export async function newestManifest(db: DbOrTx): Promise<ManifestRevision | undefined> {
  const row = await db.selectFrom('manifests').selectAll().orderBy('revision', 'desc').limit(1).executeTakeFirst()
  return row && toRevision(row)
}

/** What boxes should run now; throws NOT_FOUND when no manifest was ever applied. */
export async function currentManifest(db: DbOrTx): Promise<ManifestRevision> {
  const newest = await newestManifest(db)
  if (!newest) throw problem('NOT_FOUND', 'there is no manifest yet: `tenantry manifest apply <file>` makes the first')
  return newest
}

/** The manifest that a rollout was made from. */
export async function manifestByRevision(db: DbOrTx, revision: number): Promise<ManifestRevision> {
  const row = await db.selectFrom('manifests').selectAll().where('revision', '=', revision).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `there is no manifest revision ${revision}: \`tenantry manifest show\` tells the current one`)
  return toRevision(row)
}

/** Newest first, before the given revision. */
export async function manifestsBefore(
  db: DbOrTx,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<ManifestRevision[]> {
  let query = db.selectFrom('manifests').selectAll().orderBy('revision', 'desc').limit(limit)
  if (before !== undefined) query = query.where('revision', '<', before)
  return (await query.execute()).map(toRevision)
}

export async function insertManifest(tx: Tx, { revision, manifest, appliedAt, appliedBy }: ManifestRevision): Promise<void> {
  await tx
    .insertInto('manifests')
    .values({ revision, content: JSON.stringify(manifest), applied_at: appliedAt, applied_by: appliedBy })
    .execute()
}
