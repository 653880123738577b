import { type HostId, type Plan, type Tier, tierOf } from '../../core/boxes/index.ts'
import type { ArchiveOrder, ArchiveOrders, ArchiveReport } from '../../core/hosts/index.ts'
import type { TenantId } from '../../core/kit/index.ts'
import { boxesDeclaredDead } from '../boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { recordParts, recordState } from './archive.repo.ts'
import type { SnapshotsDeps } from './deps.ts'
import { agentRepository, knownRepository } from './snapshot-store.ts'
import type { SessionDeps } from './store-session.ts'

export type ArchivedBox = Readonly<{ id: string; slug: string; tenantId: TenantId; ownershipEpoch: number; createdAt: string }>

/** The boxes that have an archive, of one host or of all. */
export async function archivedBoxes(
  db: DbOrTx,
  tiers: SnapshotsDeps['archive']['tiers'],
  hostId?: string,
): Promise<readonly ArchivedBox[]> {
  if (!Object.values(tiers).some(Boolean)) return []
  let query = db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .select(['boxes.id', 'boxes.slug', 'boxes.tenant_id', 'boxes.ownership_epoch', 'boxes.created_at', 'tenants.plan'])
    .where('boxes.live', '=', 1)
    .where('boxes.managed', '=', 1)
    .orderBy('boxes.slug')
  if (hostId !== undefined) query = query.where('boxes.host_id', '=', hostId)
  return (await query.execute()).flatMap(({ id, slug, tenant_id, ownership_epoch: ownershipEpoch, created_at: createdAt, plan }) =>
    tiers[tierOf(plan as Plan) as Tier] ? [{ id, slug, tenantId: tenant_id as TenantId, ownershipEpoch, createdAt }] : [],
  )
}

type Deps = Pick<SnapshotsDeps, 'db' | 'clock' | 'settings' | 'archive'> & Pick<SessionDeps, 'fetch'>
type Body = Readonly<{ reports: readonly ArchiveReport[]; secrets: boolean }>

/**
 * Registers what a host stored, and returns the boxes whose archive it stores. Reports about boxes of other hosts are ignored, and those of a
 * host that was declared dead. A box without a known repository gets none: its first snapshot makes it.
 */
export async function exchangeArchives(deps: Deps, hostId: string, { reports, secrets }: Body): Promise<ArchiveOrders> {
  const { db, clock, archive } = deps
  const calledDead = await boxesDeclaredDead(db, hostId as HostId)
  const boxes = (await archivedBoxes(db, archive.tiers, hostId)).filter(({ id }) => !calledDead.has(id))
  const byId = new Map(boxes.map((box) => [box.id, box]))
  const own = reports.flatMap((report) => {
    const box = byId.get(report.boxId)
    return box && box.ownershipEpoch === report.ownershipEpoch ? [{ box, report }] : []
  })
  if (own.length > 0)
    await db.transaction().execute(async (tx) => {
      for (const { box, report } of own) {
        await recordParts(tx, box, report.parts)
        await recordState({ tx, clock }, box, report)
      }
    })
  const isUsed = Object.values(archive.tiers).some(Boolean)
  return { boxes: await Promise.all(boxes.map(async (box) => orderOf(deps, box, secrets))), nextInMs: isUsed ? 60_000 : 300_000 }
}

async function orderOf(deps: Deps, { id: boxId, slug, ownershipEpoch, tenantId }: ArchivedBox, secrets: boolean): Promise<ArchiveOrder> {
  const order = { slug, boxId, ownershipEpoch }
  if (!secrets) return order
  const { repositoryId } = await knownRepository(deps.db, tenantId)
  if (repositoryId === undefined) return order
  return { ...order, snapshots: { ...(await agentRepository(deps, deps.settings, tenantId)), mayCreate: false, repositoryId } }
}
