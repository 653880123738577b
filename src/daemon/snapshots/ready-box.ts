import { boxHeld } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type BoxRecord, existingBox, holdsOf, lookAtHost } from '../boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { requireSnapshots } from './snapshot-store.ts'

/**
 * A box that can be snapshotted, restored or drilled now. Throws CONFIG, NOT_FOUND, CONFLICT (not ready yet), BOX_NOT_MANAGED, HOST_OFFLINE,
 * BOX_HELD.
 */
export async function readyBox(
  deps: Pick<SnapshotsDeps, 'clock' | 'staleAfterMs' | 'offlineAfterMs' | 'settings'>,
  db: DbOrTx,
  slug: string,
): Promise<BoxRecord> {
  requireSnapshots(deps.settings)
  const box = await existingBox(db, slug)
  if (!box.live) throw problem('CONFLICT', `the box ${slug} is not ready yet: \`tenantry boxes show ${slug}\` tells why`)
  if (!box.managed) throw problem('BOX_NOT_MANAGED', `the box ${slug} is only observed: complete its adoption first`)
  const host = await lookAtHost(deps, db, box.hostId)
  if (host?.status !== 'online')
    throw problem(
      'HOST_OFFLINE',
      `the host ${host?.name ?? box.hostId} of ${slug} is ${host?.status ?? 'gone'}: start its agent, try again`,
    )
  const hold = (await holdsOf(db, deps.clock, [box.id])).get(box.id)
  if (hold) throw boxHeld({ slug, ...hold })
  return box
}

/** How every command names its box. */
export const addressed = ({ slug, id, ownershipEpoch }: BoxRecord) => ({ slug, boxId: id, ownershipEpoch })

/** A command's own deadline is longer than the agent's: it counts from the asking, theirs from the beginning. */
export const waitingMs = 30 * 60_000
