import type { Plan } from '../../../core/boxes/index.ts'
import { tierOf } from '../../../core/boxes/index.ts'
import type { KnownBox } from '../../../core/rollouts/index.ts'
import { windowInForce } from '../../../core/windows/index.ts'
import { type DbOrTx, prepared } from '../../db/index.ts'
import { ownWindowOf } from '../../tenants/index.ts'
import type { RolloutsNeeds } from '../needs.ts'

/** Of a live box what ordering something in it needs: what it said and how its host is does not matter any more. */
export type BoxInTurn = Pick<KnownBox, 'boxId' | 'hostId' | 'ownershipEpoch' | 'window'>

/** As it is now; undefined when it is gone. */
export async function boxInTurn({ windows }: Pick<RolloutsNeeds, 'windows'>, db: DbOrTx, slug: string): Promise<BoxInTurn | undefined> {
  const [row] = (await liveBox(db, { slug })).rows
  if (!row) return undefined
  const window = windowInForce(windows, tierOf(row.plan), ownWindowOf(row))
  return { boxId: row.id, hostId: row.host_id, ownershipEpoch: row.ownership_epoch, window }
}

type Row = {
  id: string
  host_id: string
  ownership_epoch: number
  plan: Plan
  time_zone: string | null
  maintenance_window: string | null
}

const liveBox = prepared<{ slug: string }, Row>((db, place) =>
  db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .select(['boxes.id', 'boxes.host_id', 'boxes.ownership_epoch', 'tenants.plan', 'tenants.time_zone', 'tenants.maintenance_window'])
    .where('boxes.slug', '=', place('slug'))
    .where('boxes.live', '=', 1),
)
