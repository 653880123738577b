import { sql } from 'kysely'
import { type DriftReport, driftReport, type HostId, type Plan, Severity, tierOf } from '../../core/boxes/index.ts'
import { isoNow, plural } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { type InstalledColumns, installedOf } from './box-record.ts'
import { type Fleet, type FleetNeeds, lookAtFleet } from './fleet.ts'
import { newestManifest } from './manifests.repo.ts'

export type DriftNeeds = FleetNeeds & Readonly<{ db: Db }>

/** Boxes per statement: far below what either dialect takes in parameters. */
const chunkSize = 500

type Checked = Readonly<{ id: string; reportedAt: string; drift: DriftReport }>

/** Compares every live box with the manifest (spec 4.10). It asks no agent: what is too old to say anything becomes `unknown`. */
export async function detectDrift(needs: DriftNeeds, signal?: AbortSignal): Promise<string> {
  const { db, clock } = needs
  const current = await newestManifest(db)
  if (!current) return 'there is no manifest yet, so there is nothing to compare with'
  const fleet = await lookAtFleet(needs, db)
  const checked = (await subjects(db)).map((row) => check(row, fleet, current))
  for (let at = 0; at < checked.length && !signal?.aborted; at += chunkSize)
    await saveDrift(db, checked.slice(at, at + chunkSize), isoNow(clock))
  return summary(checked)
}

type Subject = InstalledColumns & { id: string; host_id: string; reported_at: string | null; plan: Plan }

const subjects = (db: Db): Promise<Subject[]> =>
  db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .select(['boxes.id', 'boxes.host_id', 'boxes.reported_at', 'tenants.plan'])
    .select(['installed_migrations_head', 'installed_postgres', 'installed_synapse', 'installed_minio'])
    .where('boxes.live', '=', 1)
    .execute()

type Current = Readonly<{ manifest: Parameters<typeof driftReport>[1]; revision: number }>

function check(row: Subject, fleet: Fleet, { manifest, revision }: Current): Checked {
  const freshness = fleet.freshness({ reportedAt: row.reported_at, hostId: row.host_id as HostId })
  const drift = driftReport({ tier: tierOf(row.plan), installed: installedOf(row), freshness }, manifest, revision)
  return { id: row.id, reportedAt: row.reported_at ?? '', drift }
}

// A report that came in meanwhile, or a newer manifest, was compared already and is not overwritten.
// `not … <> …` keeps SQLite from joining by the report's time, which all boxes may share, instead of by the id.
async function saveDrift(db: Db, checked: readonly Checked[], at: string): Promise<void> {
  const rows = checked.map(({ id, reportedAt, drift }) => sql`(${id}, ${reportedAt}, ${JSON.stringify(drift)}, ${drift.severity})`)
  const revision = checked[0]?.drift.manifestRevision ?? 0
  await sql`
    with checked (id, reported_at, report, severity) as (values ${sql.join(rows)})
    update boxes set
      drift_report = checked.report, drift_severity = checked.severity, drift_revision = ${revision}, last_drift_check_at = ${at}
    from checked
    where boxes.id = checked.id and not coalesce(boxes.reported_at, '') <> checked.reported_at and boxes.drift_revision <= ${revision}`.execute(
    db,
  )
}

function summary(checked: readonly Checked[]): string {
  const counts = Severity.options
    .map((severity) => ({ severity, count: checked.filter(({ drift }) => drift.severity === severity).length }))
    .filter(({ count }) => count > 0)
  const words = { none: 'in sync', minor: 'with minor drift', major: 'with major drift', unknown: 'unknown' }
  return `${plural(checked.length, 'box', 'boxes')} checked${counts.length > 0 ? `: ${counts.map(({ severity, count }) => `${count} ${words[severity]}`).join(', ')}` : ''}`
}
