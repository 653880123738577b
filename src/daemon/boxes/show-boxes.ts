import type { BoxDetail, BoxRow, BoxSnapshots, Severity, Tier } from '../../core/boxes/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { type WindowRules, windowAt, windowInForce } from '../../core/windows/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { hostByName } from '../hosts/index.ts'
import type { BoxRecord } from './box-record.ts'
import { detailOf, rowOf } from './box-view.ts'
import { boxesAfter, existingBoxBy } from './boxes.repo.ts'
import { type FleetDeps, lookAtFleet, surroundingsOf } from './fleet.ts'
import { openCommands } from './life/open-commands.ts'
import { latestRemoval } from './life/removals.repo.ts'

/** What one box is described with; its snapshots are another room's. */
export type DescribeDeps = FleetDeps &
  Readonly<{
    snapshotsOfBox(db: DbOrTx, box: BoxRecord): Promise<BoxSnapshots>
    /** When boxes may be disturbed whose tenants do not say it. */
    windows: WindowRules
  }>

type Deps = DescribeDeps & Readonly<{ db: Db }>
type Wanted = Readonly<{
  tier?: Tier | undefined
  host?: string | undefined
  severity?: Severity | undefined
  slug?: string | undefined
  cursor?: string | undefined
  limit: number
}>

/** A page of boxes by slug. */
export async function listBoxes(deps: Deps, wanted: Wanted): Promise<{ boxes: BoxRow[]; nextCursor: string | null }> {
  const { db } = deps
  const { tier, host, severity, slug, cursor, limit } = wanted
  const hostId = host === undefined ? undefined : (await hostByName(db, host)).id
  const fleet = await lookAtFleet(deps, db)
  const found = await boxesAfter(db, { tier, hostId, severity, slugPart: slug, after: cursor, limit: limit + 1 }, fleet)
  const page = found.slice(0, limit)
  const around = await surroundingsOf(deps, db, page, fleet)
  return {
    boxes: page.map((box) => rowOf(box, around(box))),
    nextCursor: found.length > limit ? (page.at(-1)?.slug ?? null) : null,
  }
}

/** By slug or id. */
export const showBox = async (deps: Deps, key: string): Promise<BoxDetail> => describeBox(deps, deps.db, await existingBoxBy(deps.db, key))

/** The wire's form of one box. */
export async function describeBox(deps: DescribeDeps, db: DbOrTx, box: BoxRecord): Promise<BoxDetail> {
  const around = await surroundingsOf(deps, db, [box], await lookAtFleet(deps, db))
  const inForce = windowInForce(deps.windows, box.tier, box.ownWindow)
  return detailOf(box, around(box), {
    removal: await latestRemoval(db, box.id),
    open: await openCommands(db, box.id),
    snapshots: await deps.snapshotsOfBox(db, box),
    window: inForce && windowAt(inForce, isoNow(deps.clock)),
    address: await addressOf(db, box),
  })
}

async function addressOf(db: DbOrTx, { hostId }: BoxRecord): Promise<string | null> {
  const row = await db.selectFrom('platform_addresses').select('address').where('host_id', '=', hostId).executeTakeFirst()
  return row?.address ?? null
}
