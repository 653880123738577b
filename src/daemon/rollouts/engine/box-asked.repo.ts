import { tierOf } from '../../../core/boxes/index.ts'
import type { KnownBox } from '../../../core/rollouts/index.ts'
import { windowInForce } from '../../../core/windows/index.ts'
import { type DbOrTx, preparedList, type Tx } from '../../db/index.ts'
import { ownWindowOf } from '../../tenants/index.ts'
import type { RolloutsDeps } from '../deps.ts'
import type { BoxAsked } from './observed-box.ts'

/** Of a live box what ordering something in it needs: what it said and how its host is does not matter any more. */
export type BoxInTurn = Pick<KnownBox, 'boxId' | 'hostId' | 'ownershipEpoch' | 'window' | 'heldBy'>

type Deps = Pick<RolloutsDeps, 'windows'>

/** As it is now; undefined when it is gone. `heldBy`: who had it last and gave it back to nobody, also when its time is over. */
export async function boxInTurn({ windows }: Deps, db: DbOrTx, slug: string): Promise<BoxInTurn | undefined> {
  const row = await liveBox(db, slug)
  if (!row) return undefined
  const window = windowInForce(windows, tierOf(row.plan), ownWindowOf(row))
  return { boxId: row.id, hostId: row.host_id, ownershipEpoch: row.ownership_epoch, window, heldBy: row.holder }
}

/** The same with its host, all but what its agent has just answered itself. */
export async function boxAsked(deps: Deps, db: DbOrTx, slug: string): Promise<BoxAsked | undefined> {
  const row = await liveBox(db, slug)
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
    window: windowInForce(deps.windows, tier, ownWindowOf(row)),
  }
}

const columns = (db: DbOrTx) =>
  db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .innerJoin('hosts', 'hosts.id', 'boxes.host_id')
    .leftJoin('box_holds', 'box_holds.box_id', 'boxes.id')
    .select([
      'boxes.slug',
      'boxes.id',
      'boxes.host_id',
      'boxes.ownership_epoch',
      'boxes.managed',
      'boxes.canary',
      'boxes.database_bytes',
      'boxes.last_probe',
    ])
    .select(['tenants.plan', 'tenants.time_zone', 'tenants.maintenance_window'])
    .select(['hosts.name as host_name', 'hosts.agent_version', 'hosts.protocol_version', 'hosts.clock_offset_ms', 'box_holds.holder'])

type Row = Awaited<ReturnType<ReturnType<typeof columns>['execute']>>[number]

const liveAmong = preparedList<string, Row>((db, slugs) => columns(db).where('boxes.slug', 'in', slugs).where('boxes.live', '=', 1))

const ahead = new WeakMap<DbOrTx, ReadonlyMap<string, Row>>()

/** Reads the boxes that a transaction is about to look at in one statement, instead of one for each: as they are now they stay to it. */
export async function readBoxesAhead(tx: Tx, slugs: readonly string[]): Promise<void> {
  if (slugs.length < 2) return
  ahead.set(tx, new Map((await liveAmong(tx, slugs)).map((row) => [row.slug, row])))
}

const liveBox = async (db: DbOrTx, slug: string): Promise<Row | undefined> => ahead.get(db)?.get(slug) ?? (await liveAmong(db, [slug]))[0]
