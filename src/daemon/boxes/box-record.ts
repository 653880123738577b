import {
  type BoxFence,
  type BoxId,
  type BoxPorts,
  type DriftReport,
  type HostId,
  type InstalledVersions,
  type Plan,
  type ProbeResult,
  portsFrom,
  type ReportedHealth,
  type Severity,
  type Tier,
  tierOf,
  type VersionsReport,
} from '../../core/boxes/index.ts'
import type { TenantId } from '../../core/kit/index.ts'
import type { OwnWindow } from '../../core/windows/index.ts'
import { ownWindowOf } from '../tenants/index.ts'
import type { BoxTable } from './boxes.tables.ts'

/** A box with data of its tenant. */
export type BoxRecord = Readonly<{
  id: BoxId
  slug: string
  tenantId: TenantId
  tenantName: string
  chatDomain: string
  plan: Plan
  tier: Tier
  /** The tenant's own maintenance window. */
  ownWindow: OwnWindow
  hostId: HostId
  live: boolean
  managed: boolean
  canary: boolean
  fenced: boolean
  ownershipEpoch: number
  publicUrl: string
  internalUrl: string | null
  ports: BoxPorts | null
  folder: string | null
  project: string | null
  /** The command that provisions or adopts it. */
  setUp: Readonly<{ commandId: string; attempt: number }>
  installed: InstalledVersions
  databaseBytes: number | null
  report: VersionsReport | null
  reportedAt: string | null
  probe: ProbeResult | null
  /** The health by the last report. */
  health: Readonly<{ state: ReportedHealth['state']; since: string }> | null
  /** Since when it is down or degraded. */
  failingSince: string | null
  driftReport: DriftReport | null
  severity: Severity
  lastDriftCheckAt: string | null
  createdAt: string
  maintenance: Readonly<{ by: string; reason: string; since: string }> | null
  /** The command that enters or leaves maintenance. */
  maintenanceCommand: string | null
  fence: BoxFence | null
  removal: 'removed' | 'erased' | null
}>

/** A row of `boxes` joined with its tenant. */
export type BoxRow = BoxTable & {
  tenant_name: string
  chat_domain: string
  plan: Plan
  time_zone: string | null
  maintenance_window: string | null
}

const parsed = <Value>(text: string | null): Value | null => (text === null ? null : (JSON.parse(text) as Value))

export const installedOf = (row: InstalledColumns): InstalledVersions => ({
  migrationsHead: row.installed_migrations_head,
  postgres: row.installed_postgres,
  synapse: row.installed_synapse,
  minio: row.installed_minio,
})

export type InstalledColumns = Pick<BoxTable, 'installed_migrations_head' | 'installed_postgres' | 'installed_synapse' | 'installed_minio'>

export const installedColumns = (installed: InstalledVersions): InstalledColumns => ({
  installed_migrations_head: installed.migrationsHead,
  installed_postgres: installed.postgres,
  installed_synapse: installed.synapse,
  installed_minio: installed.minio,
})

export const toBox = (row: BoxRow): BoxRecord => ({
  id: row.id as BoxId,
  slug: row.slug,
  tenantId: row.tenant_id as TenantId,
  tenantName: row.tenant_name,
  chatDomain: row.chat_domain,
  plan: row.plan,
  tier: tierOf(row.plan),
  ownWindow: ownWindowOf(row),
  hostId: row.host_id as HostId,
  live: row.live === 1,
  managed: row.managed === 1,
  canary: row.canary === 1,
  fenced: row.fenced === 1,
  ownershipEpoch: row.ownership_epoch,
  publicUrl: row.public_url,
  internalUrl: row.internal_url,
  ports: row.first_port === null ? null : portsFrom(row.first_port),
  folder: row.folder,
  project: row.project,
  setUp: { commandId: row.set_up_command, attempt: row.set_up_attempt },
  installed: installedOf(row),
  databaseBytes: row.database_bytes === null ? null : Number(row.database_bytes),
  report: parsed(row.last_report),
  reportedAt: row.reported_at,
  probe: parsed(row.last_probe),
  health: row.health && row.health_since ? { state: row.health, since: row.health_since } : null,
  failingSince: row.failing_since,
  driftReport: parsed(row.drift_report),
  severity: row.drift_severity,
  lastDriftCheckAt: row.last_drift_check_at,
  createdAt: row.created_at,
  maintenance: row.maintenance_since === null ? null : maintenanceOf(row, row.maintenance_since),
  maintenanceCommand: row.maintenance_command,
  fence: row.fence_since === null ? null : { holder: row.fence_holder, since: row.fence_since, overdueSince: row.fence_overdue_at },
  removal: row.removal,
})

const maintenanceOf = ({ maintenance_by, maintenance_reason }: BoxRow, since: string) => ({
  by: maintenance_by ?? 'unknown',
  reason: maintenance_reason ?? '',
  since,
})

type Closing = Readonly<{
  maintenance: Readonly<{ by: string }> | null
  fenced: boolean
  fence: Readonly<{ holder: string | null }> | null
}>

/** The person or the change that closed a box; null where it is open. */
export const closedBy = ({ maintenance, fenced, fence }: Closing): string | null =>
  maintenance?.by ?? (fenced ? (fence?.holder ?? 'a change') : null)

/** The agent reports a check only when it finds something else than before; so what it found last holds until its last look. */
export function lastLook({ probe, report }: Pick<BoxRecord, 'probe' | 'report'>, checkedAt = ''): ProbeResult | null {
  const check = report?.watch?.check
  if (!check) return probe
  const looked = checkedAt > check.at ? { ...check, at: checkedAt } : check
  return probe && probe.at > looked.at ? probe : looked
}
