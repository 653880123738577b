import {
  adoptedFindings,
  type BoxDetail,
  type BoxRow,
  type BoxSizes,
  type BoxSnapshots,
  type Component,
  type ComponentSeverity,
  chooseSnapshot,
  type FleetSummary,
  growthOf,
  type HostId,
  healthOf,
  isMoveFinished,
  type ProbeResult,
  type Severity,
  type SnapshotChoice,
  type Tier,
  type TierSnapshots,
} from '../../core/boxes/index.ts'
import { pageOf } from '../../core/contract/index.ts'
import { platformUrl } from '../../core/homeserver/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { type BoxWindow, type WindowRules, windowAt, windowInForce } from '../../core/windows/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { type Command, hostById, hostByName } from '../hosts/index.ts'
import { isRestart, noExpiry } from './box-holds.ts'
import { type BoxRecord, closedBy, lastLook } from './box-record.ts'
import { boxesAfter, countBoxesBy, existingBoxBy } from './boxes.repo.ts'
import { type BoxContext, type FleetDeps, readBoxContexts, readFleet } from './fleet.ts'
import { openCommands } from './in-use.ts'
import { importView, latestImport, type StoredImport } from './lifecycle/imports.repo.ts'
import { latestRemoval, moveView, type Removal, removalView } from './lifecycle/procedures.repo.ts'
import { sizesOf } from './sizes.ts'
import { latestRehearsal } from './upgrades.ts'

/** Dependencies of the detail view; snapshots come from another feature. */
export type DescribeDeps = FleetDeps &
  Readonly<{
    snapshotsOfBox(db: DbOrTx, box: BoxRecord): Promise<BoxSnapshots>
    /** The default maintenance windows. */
    windows: WindowRules
    /** When the snapshots of updates are stored. */
    snapshots: TierSnapshots
  }>

type Deps = DescribeDeps & Readonly<{ db: Db }>
type Filter = Readonly<{
  tier?: Tier | undefined
  host?: string | undefined
  severity?: Severity | undefined
  slug?: string | undefined
  cursor?: string | undefined
  limit: number
}>

/** A page of boxes by slug. */
export async function listBoxes(deps: Deps, filter: Filter): Promise<{ boxes: BoxRow[]; nextCursor: string | null }> {
  const { db } = deps
  const { tier, host, severity, slug, cursor, limit } = filter
  const hostId = host === undefined ? undefined : (await hostByName(db, host)).id
  const fleet = await readFleet(deps, db)
  const found = await boxesAfter(db, { tier, hostId, severity, slugPart: slug, after: cursor, limit: limit + 1 }, fleet)
  const { page, nextCursor } = pageOf(found, limit, (box) => box.slug)
  const around = await readBoxContexts({ ...deps, db }, page, fleet)
  return { boxes: page.map((box) => rowOf(box, around(box))), nextCursor }
}

/** The fleet in counts. */
export const countBoxes = async (deps: Deps): Promise<FleetSummary> => countBoxesBy(deps.db, await readFleet(deps, deps.db))

/** By slug or id. */
export const showBox = async (deps: Deps, key: string): Promise<BoxDetail> => describeBox(deps, deps.db, await existingBoxBy(deps.db, key))

/** The wire format of one box. */
export async function describeBox(deps: DescribeDeps, db: DbOrTx, box: BoxRecord): Promise<BoxDetail> {
  const around = await readBoxContexts({ ...deps, db }, [box], await readFleet(deps, db))
  const inForce = windowInForce(deps.windows, box.tier, box.ownWindow)
  return detailOf(box, around(box), {
    removal: await latestRemoval(db, box.id),
    imported: await latestImport(db, box.id),
    open: await openCommands(db, box.id),
    sizes: await sizesOf(db, box),
    rehearsal: await latestRehearsal(db, box.id),
    snapshots: await deps.snapshotsOfBox(db, box),
    updateCopy: updateCopyOf(deps, box),
    window: inForce && windowAt(inForce, isoNow(deps.clock)),
    address: await addressOf(db, box),
    probe: lastLook(box, (await hostById(db, box.hostId)).resources?.checkedAt),
  })
}

const updateCopyOf = ({ snapshots }: DescribeDeps, { tier, managed, live, report, databaseBytes }: BoxRecord): SnapshotChoice | null => {
  const { hotCopy, freeDiskBytes = null } = report?.facts ?? {}
  return managed && live ? chooseSnapshot(snapshots[tier], { facts: hotCopy, databaseBytes, freeDiskBytes }) : null
}

async function addressOf(db: DbOrTx, { hostId }: BoxRecord): Promise<string | null> {
  const row = await db.selectFrom('platform_addresses').select('address').where('host_id', '=', hostId).executeTakeFirst()
  return row?.address ?? null
}

/** The list row of a box. Its drift counts only while its report is fresh. */
function rowOf(box: BoxRecord, around: BoxContext): BoxRow {
  const { fleet, hold, status, reportAgeMs, move } = around
  const freshness = fleet.freshness(box)
  const host = fleet.host(box.hostId)
  return {
    boxId: box.id,
    slug: box.slug,
    tenant: box.tenantName,
    plan: box.plan,
    tier: box.tier,
    host: host?.name ?? box.hostId,
    hostOnline: host?.status === 'online',
    status,
    live: box.live,
    managed: box.managed,
    canary: box.canary,
    fenced: box.fenced,
    installed: box.installed,
    severity: freshness === 'fresh' ? box.severity : 'unknown',
    components: componentsOf(box),
    last_drift_check_at: box.lastDriftCheckAt,
    reportedAt: box.reportedAt,
    reportAgeMs,
    freshness,
    health: healthOf({ ...box, freshness, closedBy: closedBy(box), isRestarting: isRestart(hold), stored: box.health }) ?? null,
    heldBy: hold?.holder ?? null,
    heldUntil: hold && hold.until < noExpiry ? hold.until : null,
    maintenance: box.maintenance,
    fenceOverdue: Boolean(box.fence?.overdueSince),
    moving: move && !isMoveFinished(move.state) ? { state: move.state, to: nameOf(around, move.toHostId) } : null,
  }
}

const componentsOf = ({ driftReport }: BoxRecord): Partial<Record<Component, ComponentSeverity>> =>
  Object.fromEntries((driftReport?.components ?? []).map(({ component, severity }) => [component, severity]))

const nameOf = ({ fleet }: BoxContext, hostId: HostId): string => fleet.host(hostId)?.name ?? hostId

/** Data that only the detail view reads. */
type DetailData = Readonly<{
  removal: Removal | undefined
  imported: StoredImport | undefined
  open: readonly Command[]
  sizes: readonly BoxSizes[]
  rehearsal: BoxDetail['upgradeRehearsal']
  snapshots: BoxSnapshots
  updateCopy: SnapshotChoice | null
  window: BoxWindow | null
  /** The configured address of the platform listeners on its host; null: loopback. */
  address: string | null
  probe: ProbeResult | null
}>

/** The detail view of a box. */
const detailOf = (
  box: BoxRecord,
  around: BoxContext,
  { removal, imported, open, sizes, rehearsal, snapshots, updateCopy, window, address, probe }: DetailData,
): BoxDetail => ({
  ...rowOf(box, around),
  tenantId: box.tenantId,
  hostStatus: around.fleet.host(box.hostId)?.status ?? 'offline',
  chatDomain: box.chatDomain,
  window,
  publicUrl: box.publicUrl,
  internalUrl: platformUrl({ ...box, address }),
  ports: box.ports,
  folder: box.folder,
  project: box.project,
  ownershipEpoch: box.ownershipEpoch,
  driftReport: box.driftReport,
  report: box.report,
  probe,
  findings: box.live ? adoptedFindings(box) : [],
  setUp: { ...box.setUp, error: around.setUpError },
  ...snapshots,
  updateCopy,
  fence: box.fence,
  move: around.move ? moveView(around.move, (id) => nameOf(around, id)) : null,
  removal: removal ? removalView(removal) : null,
  import: imported ? importView(imported) : null,
  growth: growthOf(sizes),
  upgradeRehearsal: rehearsal,
  openCommands: open.map((command) => openCommand(command, nameOf(around, command.hostId as HostId))),
  createdAt: box.createdAt,
})

const openCommand = ({ id, kind, status, startedAt, createdAt, deadlineAt }: Command, host: string): BoxDetail['openCommands'][number] => ({
  commandId: id,
  kind,
  status: status === 'queued' || status === 'leased' || status === 'running' ? status : 'expired',
  host,
  since: startedAt ?? createdAt,
  deadlineAt,
})
