import { isoIn, plural } from '../../../core/kit/index.ts'
import { packageKey, type StoreDeps } from './deps.ts'

type Deps = Pick<StoreDeps, 'db' | 'clock' | 'objects'>

const dayMs = 86_400_000
/** Longer than any upload: an older unfinished one belongs to a dead process. */
const unfinishedMs = dayMs
const refusedMs = 90 * dayMs
const maxARun = 500

/** Deletes unfinished uploads and refused packages after a day, expired invites, and rejected and replaced submissions 90 days after the decision. */
export async function deleteOldPackages({ db, clock, objects }: Deps): Promise<string> {
  await db.deleteFrom('store_invites').where('expires_at', '<=', isoIn(clock, 0)).execute()
  const before = isoIn(clock, -unfinishedMs)
  const unfinished = await db
    .selectFrom('store_artifacts')
    .select('id')
    .where('state', 'in', ['uploading', 'discarded'])
    .where('created_at', '<=', before)
    .limit(maxARun)
    .execute()
  const decidedBefore = isoIn(clock, -refusedMs)
  const refused = await db
    .selectFrom('store_submissions')
    .select(['id', 'artifact_id'])
    .where('status', 'in', ['rejected', 'replaced'])
    .where('created_at', '<=', decidedBefore) // for the index
    .where('updated_at', '<=', decidedBefore)
    .limit(maxARun)
    .execute()
  for (const { id } of unfinished) {
    await objects.remove(packageKey(id))
    await db.deleteFrom('store_artifacts').where('id', '=', id).where('state', 'in', ['uploading', 'discarded']).execute()
  }
  for (const { id, artifact_id } of refused) {
    await objects.remove(packageKey(artifact_id))
    await db.transaction().execute(async (tx) => {
      await tx.deleteFrom('store_submissions').where('id', '=', id).execute()
      await tx.deleteFrom('store_artifacts').where('id', '=', artifact_id).execute()
    })
  }
  return plural(unfinished.length + refused.length, 'old package')
}
