import {
  type BoxDetail,
  type BoxRow,
  type BoxSnapshots,
  type Component,
  type ComponentSeverity,
  type HostId,
  moveIsOver,
} from '../../core/boxes/index.ts'
import { platformUrl } from '../../core/homeserver/index.ts'
import type { BoxWindow } from '../../core/windows/index.ts'
import type { Command } from '../hosts/index.ts'
import type { BoxRecord } from './box-record.ts'
import type { Surroundings } from './fleet.ts'
import { forever } from './life/deps.ts'
import { moveView } from './life/moves.repo.ts'
import { type Removal, removalView } from './life/removals.repo.ts'

/** A box as lists show it. What was found at the last check counts only while its report does. */
export function rowOf(box: BoxRecord, around: Surroundings): BoxRow {
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
    heldBy: hold?.holder ?? null,
    heldUntil: hold && hold.until < forever ? hold.until : null,
    maintenance: box.maintenance,
    fenceOverdue: Boolean(box.fence?.overdueSince),
    moving: move && !moveIsOver(move.state) ? { state: move.state, to: nameOf(around, move.toHostId) } : null,
  }
}

const componentsOf = ({ driftReport }: BoxRecord): Partial<Record<Component, ComponentSeverity>> =>
  Object.fromEntries((driftReport?.components ?? []).map(({ component, severity }) => [component, severity]))

const nameOf = ({ fleet }: Surroundings, hostId: HostId): string => fleet.host(hostId)?.name ?? hostId

/** What only one box at a time is looked at for. */
export type Closer = Readonly<{
  removal: Removal | undefined
  open: readonly Command[]
  snapshots: BoxSnapshots
  window: BoxWindow | null
  /** Of the platform listeners on its host, as an operator said it; null: loopback. */
  address: string | null
}>

/** All that is known about it. */
export const detailOf = (box: BoxRecord, around: Surroundings, { removal, open, snapshots, window, address }: Closer): BoxDetail => ({
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
  probe: box.probe,
  findings: [...box.findings],
  setUp: { ...box.setUp, error: around.setUpError },
  ...snapshots,
  fence: box.fence,
  move: around.move ? moveView(around.move, (id) => nameOf(around, id)) : null,
  removal: removal ? removalView(removal) : null,
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
