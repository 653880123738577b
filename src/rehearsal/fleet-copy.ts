import { sql } from 'kysely'
import type { Manifest } from '../core/boxes/index.ts'
import { type FieldReason, problem } from '../core/kit/index.ts'
import { type Gate, gatesOf, type RehearsedFaults } from '../core/rollouts/index.ts'
import { type Db, migrate, openDatabase } from '../daemon/db/index.ts'

// Copies whole rows, so that new columns need no change here.

type Row = Readonly<Record<string, unknown>>
export type FleetCopy = readonly (readonly [table: string, rows: readonly Row[]])[]

/** Past actions that durations are estimated from. */
const historyRows = 500

/** The rows a rollout is planned from: fleet, manifest, holds and past durations. Contains no secrets. */
export async function readFleet(db: Db): Promise<FleetCopy> {
  const history = await rowsOf(
    db,
    sql`select * from rollout_actions where status = 'succeeded' and duration_ms is not null
    and fenced_ms is not null order by finished_at desc limit ${historyRows}`,
  )
  const past = [...new Set(history.map(({ rollout_id }) => rollout_id))]
  const rollouts = past.length === 0 ? [] : await rowsOf(db, sql`select * from rollouts where id in (${sql.join(past)})`)
  return [
    ['manifests', await rowsOf(db, sql`select * from manifests order by revision desc limit 1`)],
    ['tenants', await rowsOf(db, sql`select * from tenants`)],
    ['hosts', await rowsOf(db, sql`select * from hosts`)],
    ['boxes', (await rowsOf(db, sql`select * from boxes where live = 1`)).map(withoutDigests)],
    ['upgrade_rehearsals', (await rowsOf(db, sql`select * from upgrade_rehearsals`)).map(withoutDigest)],
    // Holds of other rollouts are ignored: they end soon.
    ['box_holds', await rowsOf(db, sql`select * from box_holds where holder not like 'rollout:%'`)],
    ['rollouts', rollouts.map((row) => ({ ...row, status: 'done', idempotency_key: null }))],
    ['rollout_actions', history],
  ]
}

const rowsOf = async (db: Db, query: ReturnType<typeof sql<Row>>): Promise<Row[]> => (await query.execute(db)).rows as Row[]

/** The simulated registry has its own digests; next to real ones every tag would look moved. */
const withoutDigests = (row: Row): Row =>
  typeof row.last_report === 'string' ? { ...row, last_report: row.last_report.replace(/"digest":"[^"]*"/g, '"digest":null') } : row

const withoutDigest = (row: Row): Row => ({ ...row, result: String(row.result).replace(/"digest":"[^"]*"/g, '"digest":null') })

/** Takes the gates out of the manifest: there is no Prometheus in virtual time. */
export function withoutGates(copy: FleetCopy): Readonly<{ fleet: FleetCopy; gates: readonly Gate[] }> {
  const [row] = copy.find(([table]) => table === 'manifests')?.[1] ?? []
  if (!row) return { fleet: copy, gates: [] }
  const { gates, ...manifest }: Manifest = JSON.parse(String(row.content))
  const fleet = copy.map(([table, rows]): FleetCopy[number] =>
    table === 'manifests' ? [table, [{ ...row, content: JSON.stringify(manifest) }]] : [table, rows],
  )
  return { fleet, gates: gatesOf('staged', { gates }) }
}

const maxValuesPerInsert = 20_000

/** An in-memory database with the copied rows. */
export async function fleetDatabase(copy: FleetCopy): Promise<{ db: Db; close(): Promise<void> }> {
  const { db, close } = openDatabase('sqlite::memory:')
  await migrate(db)
  for (const [table, rows] of copy) {
    const perInsert = Math.max(1, Math.floor(maxValuesPerInsert / Object.keys(rows[0] ?? { one: 1 }).length))
    for (let from = 0; from < rows.length; from += perInsert)
      await db
        .insertInto(table as 'boxes')
        .values(rows.slice(from, from + perInsert) as never)
        .execute()
  }
  return { db, close }
}

/** Throws VALIDATION for unknown boxes and hosts: a typo would otherwise simulate no fault at all. */
export function assertKnownNames(fleet: FleetCopy, { failProbes, failPulls, offlineHosts }: RehearsedFaults): void {
  const boxes = namesIn(fleet, 'boxes', 'slug')
  const hosts = namesIn(fleet, 'hosts', 'name')
  const unknown = [
    ...missing(boxes, failProbes, { field: 'failProbes', what: 'box' }),
    ...missing(boxes, failPulls, { field: 'failPulls', what: 'box' }),
    ...missing(hosts, offlineHosts, { field: 'offlineHosts', what: 'host' }),
  ]
  if (unknown.length === 0) return
  const lists = unknown.some(({ path }) => !path.includes('offlineHosts')) ? '`tenantry boxes list`' : '`tenantry hosts list`'
  throw problem('VALIDATION', `${unknown.map(({ reason }) => reason).join('; ')}; ${lists} shows all`, { details: unknown })
}

const namesIn = (fleet: FleetCopy, table: string, column: string): ReadonlySet<unknown> =>
  new Set(fleet.flatMap(([name, rows]) => (name === table ? rows.map((row) => row[column]) : [])))

const missing = (
  known: ReadonlySet<unknown>,
  named: readonly string[],
  { field, what }: Readonly<{ field: string; what: 'box' | 'host' }>,
): FieldReason[] =>
  named.flatMap((name, at) => (known.has(name) ? [] : [{ path: `faults.${field}.${at}`, reason: `${what} ${name} does not exist` }]))
