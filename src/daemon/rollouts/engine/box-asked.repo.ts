import { tierOf } from '../../../core/boxes/index.ts'
import { windowInForce } from '../../../core/windows/index.ts'
import { type DbOrTx, prepared } from '../../db/index.ts'
import { ownWindowOf } from '../../tenants/index.ts'
import type { RolloutsNeeds } from '../needs.ts'
import type { BoxAsked } from './observed-box.ts'

/** The live box of that slug with its host, all but what its agent has just answered itself; undefined when it is gone. */
export async function boxAsked({ windows }: Pick<RolloutsNeeds, 'windows'>, db: DbOrTx, slug: string): Promise<BoxAsked | undefined> {
  const [row] = (await liveBox(db, { slug })).rows
  if (!row) return undefined
  const tier = tierOf(row.plan)
  return {
    slug,
    boxId: row.id,
    ownershipEpoch: row.ownership_epoch,
    hostId: row.host_id,
    hostName: row.host_name,
    agentVersion: row.agent_version,
    protocolVersion: row.protocol_version,
    clockOffsetMs: row.clock_offset_ms === null ? null : Number(row.clock_offset_ms),
    tier,
    managed: row.managed === 1,
    canary: row.canary === 1,
    databaseBytes: row.database_bytes === null ? null : Number(row.database_bytes),
    probe: row.last_probe === null ? null : JSON.parse(row.last_probe),
    window: windowInForce(windows, tier, ownWindowOf(row)),
  }
}

const columns = (db: DbOrTx) =>
  db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .innerJoin('hosts', 'hosts.id', 'boxes.host_id')
    .select([
      'boxes.id',
      'boxes.host_id',
      'boxes.ownership_epoch',
      'boxes.managed',
      'boxes.canary',
      'boxes.database_bytes',
      'boxes.last_probe',
    ])
    .select(['tenants.plan', 'tenants.time_zone', 'tenants.maintenance_window'])
    .select(['hosts.name as host_name', 'hosts.agent_version', 'hosts.protocol_version', 'hosts.clock_offset_ms'])

type Row = Awaited<ReturnType<ReturnType<typeof columns>['execute']>>[number]

const liveBox = prepared<{ slug: string }, Row>((db, place) =>
  columns(db).where('boxes.slug', '=', place('slug')).where('boxes.live', '=', 1),
)
