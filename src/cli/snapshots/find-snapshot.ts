import { problem } from '../../core/kit/index.ts'
import type { Snapshot } from '../../core/snapshots/index.ts'
import { shownBox } from '../boxes/index.ts'
import type { Context } from '../kit/index.ts'
import { shortId } from './snapshots.view.ts'

/** The snapshot of a box that is meant by the beginning of its id. Throws NOT_FOUND, of the box where there is none either, and USAGE when several begin like that. */
export async function findSnapshot({ api }: Pick<Context, 'api'>, slug: string, id: string): Promise<Snapshot> {
  const { snapshots } = await api.snapshots.listSnapshots({ query: { slug, id, limit: 2 } })
  const [found, other] = snapshots
  if (!found) await shownBox({ api }, slug)
  if (!found) throw problem('NOT_FOUND', `${slug} has no snapshot ${id}: \`tenantry snapshots list --slug ${slug}\` shows all`)
  if (other)
    throw problem('USAGE', `several snapshots of ${slug} begin with ${id}, such as ${shortId(found.snapshotId)}: give more of the id`)
  return found
}
