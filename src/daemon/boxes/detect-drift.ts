import { sql } from 'kysely'
import { type BoxId, type DriftReport, driftReport, type HostId, type Plan, Severity, tierOf } from '../../core/boxes/index.ts'
import { isoNow, plural } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { type InstalledColumns, installedOf } from './box-record.ts'
import { type Fleet, type FleetDeps, readFleet } from './fleet.ts'
import { newestManifest } from './manifests.ts'

export type DriftDeps = FleetDeps & Readonly<{ db: Db }>

/** Boxes per statement, below the parameter limit of both dialects. */
const chunkSize = 500

type Checked = Readonly<{ id: string; reportedAt: string; drift: DriftReport }>

/** Compares every live box with the manifest (spec 4.10). It uses stored reports; a stale one makes the drift `unknown`. */
export async function detectDrift(deps: DriftDeps, signal?: AbortSignal): Promise<string> {
  const { db, clock } = deps
  const current = await newestManifest(db)
  if (!current) return 'no manifest has been applied'
  const fleet = await readFleet(deps, db)
  const counts = new Map<Severity, number>()
  for (let rows = await subjectsAfter(db, ''); rows.length > 0 && !signal?.aborted; rows = await subjectsAfter(db, rows.at(-1)?.id ?? '')) {
    const checked = rows.map((row) => check(row, fleet, current))
    await saveDrift(db, checked, isoNow(clock))
    for (const { drift } of checked) counts.set(drift.severity, (counts.get(drift.severity) ?? 0) + 1)
  }
  return summary(counts)
}

type Subject = InstalledColumns & { id: string; host_id: string; reported_at: string | null; plan: Plan }

/** A page of boxes by id, so that other writers are not blocked and memory stays small. */
const subjectsAfter = (db: Db, after: string): Promise<Subject[]> =>
  db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .select(['boxes.id', 'boxes.host_id', 'boxes.reported_at', 'tenants.plan'])
    .select(['installed_migrations_head', 'installed_postgres', 'installed_synapse', 'installed_minio'])
    .where('boxes.live', '=', 1)
    .where('boxes.id', '>', after)
    .orderBy('boxes.id')
    .limit(chunkSize)
    .execute()

type Current = Readonly<{ manifest: Parameters<typeof driftReport>[1]; revision: number }>

function check(row: Subject, fleet: Fleet, { manifest, revision }: Current): Checked {
  const freshness = fleet.freshness({ id: row.id as BoxId, hostId: row.host_id as HostId, reportedAt: row.reported_at, removal: null })
  const drift = driftReport({ tier: tierOf(row.plan), installed: installedOf(row), freshness }, manifest, revision)
  return { id: row.id, reportedAt: row.reported_at ?? '', drift }
}

// Does not overwrite the drift of a newer report or manifest.
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

function summary(counts: ReadonlyMap<Severity, number>): string {
  const words = { none: 'in sync', minor: 'minor drift', major: 'major drift', unknown: 'unknown' }
  const parts = Severity.options.flatMap((severity) => (counts.has(severity) ? [`${counts.get(severity)} ${words[severity]}`] : []))
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return `${plural(total, 'box', 'boxes')} checked${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`
}
