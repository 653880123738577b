import type { BoxDetail, BoxRow, Component, ComponentSeverity } from '../../core/boxes/index.ts'
import type { BoxRecord } from './box-record.ts'
import type { Surroundings } from './fleet.ts'

/** A box as lists show it. What was found at the last check counts only while its report does. */
export function rowOf(box: BoxRecord, { fleet, hold, status, reportAgeMs }: Surroundings): BoxRow {
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
    heldUntil: hold?.until ?? null,
  }
}

const componentsOf = ({ driftReport }: BoxRecord): Partial<Record<Component, ComponentSeverity>> =>
  Object.fromEntries((driftReport?.components ?? []).map(({ component, severity }) => [component, severity]))

/** All that is known about it. */
export const detailOf = (box: BoxRecord, around: Surroundings): BoxDetail => ({
  ...rowOf(box, around),
  tenantId: box.tenantId,
  hostStatus: around.fleet.host(box.hostId)?.status ?? 'offline',
  chatDomain: box.chatDomain,
  publicUrl: box.publicUrl,
  internalUrl: box.internalUrl,
  ports: box.ports,
  folder: box.folder,
  project: box.project,
  ownershipEpoch: box.ownershipEpoch,
  driftReport: box.driftReport,
  report: box.report,
  probe: box.probe,
  findings: [...box.findings],
  setUp: { ...box.setUp, error: around.setUpError },
  createdAt: box.createdAt,
})
