import { isOffline } from '../../core/hosts/index.ts'
import type { KnownBox } from '../../core/rollouts/index.ts'
import { type BoxRecord, boxBySlug, boxesInScope, holdsOf } from '../boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { allHosts, hostById } from '../hosts/index.ts'
import type { RolloutsNeeds } from './needs.ts'

type Needs = Pick<RolloutsNeeds, 'clock' | 'offlineAfterMs'>

const known = (box: BoxRecord, heldBy: string | null, host: { name: string; online: boolean }): KnownBox => ({
  slug: box.slug,
  boxId: box.id,
  ownershipEpoch: box.ownershipEpoch,
  hostId: box.hostId,
  hostName: host.name,
  hostOnline: host.online,
  tier: box.tier,
  managed: box.managed,
  canary: box.canary,
  databaseBytes: box.databaseBytes,
  installed: box.installed,
  report: box.report,
  reportedAt: box.reportedAt,
  heldBy,
})

/** Every live box with its host's state and its hold. */
export async function knownBoxes({ clock, offlineAfterMs }: Needs, db: DbOrTx): Promise<KnownBox[]> {
  const now = clock.now()
  const boxes = await boxesInScope(db)
  const hosts = new Map(
    (await allHosts(db)).map((host) => [
      host.id,
      { name: host.name, online: host.status === 'active' && !isOffline(host, now, offlineAfterMs) },
    ]),
  )
  const holds = await holdsOf(db, clock)
  return boxes.map((box) => known(box, holds.get(box.id)?.holder ?? null, hosts.get(box.hostId) ?? { name: box.hostId, online: false }))
}

/** One live box as it is now, to act upon it; undefined when it is gone. */
export async function knownBox({ clock, offlineAfterMs }: Needs, db: DbOrTx, slug: string): Promise<KnownBox | undefined> {
  const box = await boxBySlug(db, slug)
  if (!box?.live) return undefined
  const host = await hostById(db, box.hostId)
  const online = host.status === 'active' && !isOffline(host, clock.now(), offlineAfterMs)
  const hold = (await holdsOf(db, clock, [box.id])).get(box.id)
  return known(box, hold?.holder ?? null, { name: host.name, online })
}
