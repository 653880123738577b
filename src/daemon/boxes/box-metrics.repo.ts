import {
  type BoxId,
  type HealthState,
  type HostId,
  type InstalledVersions,
  type ProbeResult,
  type Severity,
  type Tier,
  tierOf,
  type VersionsReport,
} from '../../core/boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { installedOf, lastLook } from './box-record.ts'
import type { Fleet } from './fleet.ts'

/** The values of a live box for metrics, as last reported. */
export type BoxMetrics = Readonly<{
  slug: string
  tenantId: string
  /** Name of the host. */
  host: string
  tier: Tier
  managed: boolean
  createdAt: string
  installed: InstalledVersions
  /** `unknown` without a fresh report, as in lists. */
  severity: Severity
  state: HealthState
  databaseBytes: number | null
  services: VersionsReport['services']
  facts: VersionsReport['facts']
  probe: ProbeResult | null
  reportedAt: string | null
}>

/** A page of live boxes by slug. */
export async function boxMetricsAfter(
  db: DbOrTx,
  { after, limit }: Readonly<{ after: string; limit: number }>,
  fleet: Fleet,
): Promise<BoxMetrics[]> {
  const rows = await boxesAfter(db, after).limit(limit).execute()
  return rows.map((row) => {
    const [id, hostId, reportedAt] = [row.id as BoxId, row.host_id as HostId, row.reported_at]
    const report: VersionsReport | null = row.last_report === null ? null : JSON.parse(row.last_report)
    const probe: ProbeResult | null = row.last_probe === null ? null : JSON.parse(row.last_probe)
    const freshness = fleet.freshness({ id, hostId, reportedAt, removal: null })
    const state = row.maintenance_since === null ? row.health : 'maintenance'
    return {
      slug: row.slug,
      tenantId: row.tenant_id,
      host: fleet.host(hostId)?.name ?? hostId,
      tier: tierOf(row.plan),
      managed: row.managed === 1,
      createdAt: row.created_at,
      installed: installedOf(row),
      severity: freshness === 'fresh' ? row.drift_severity : 'unknown',
      state: (freshness === 'fresh' ? state : null) ?? 'unknown',
      databaseBytes: row.database_bytes === null ? null : Number(row.database_bytes),
      services: report?.services ?? {},
      facts: report?.facts,
      probe: lastLook({ probe, report }),
      reportedAt,
    }
  })
}

const boxesAfter = (db: DbOrTx, after: string) =>
  db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .select(['boxes.id', 'boxes.slug', 'boxes.tenant_id', 'boxes.host_id', 'boxes.managed', 'boxes.created_at', 'tenants.plan'])
    .select(['installed_migrations_head', 'installed_postgres', 'installed_synapse', 'installed_minio', 'database_bytes'])
    .select(['maintenance_since', 'health'])
    .select(['drift_severity', 'last_report', 'last_probe', 'reported_at'])
    .where('boxes.live', '=', 1)
    .where('boxes.slug', '>', after)
    .orderBy('boxes.slug')

/** The number of live boxes by the id of their host. */
export async function countBoxesOfHosts(db: DbOrTx): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('boxes')
    .select(({ fn }) => ['host_id', fn.countAll().as('count')])
    .where('live', '=', 1)
    .groupBy('host_id')
    .execute()
  return new Map(rows.map(({ host_id, count }) => [host_id, Number(count)]))
}
