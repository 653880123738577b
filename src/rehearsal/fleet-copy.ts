import { sql } from 'kysely'
import { type FieldReason, problem } from '../core/kit/index.ts'
import type { RehearsedFaults } from '../core/rollouts/index.ts'
import { type Db, migrate, openDatabase } from '../daemon/db/index.ts'

// Rows as they are: whatever a room keeps of a box comes along without this file knowing it.

type Row = Readonly<Record<string, unknown>>
export type FleetCopy = readonly (readonly [table: string, rows: readonly Row[]])[]

/** So much of the past says how long updates take. */
const historyRows = 500

/** What a rollout is made from: the fleet, its target, what holds boxes, and how long updates took. No secret and no key is among it. */
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
    // What other rollouts hold will be free again soon.
    ['box_holds', await rowsOf(db, sql`select * from box_holds where holder not like 'rollout:%'`)],
    ['rollouts', rollouts.map((row) => ({ ...row, status: 'done', idempotency_key: null }))],
    ['rollout_actions', history],
  ]
}

const rowsOf = async (db: Db, query: ReturnType<typeof sql<Row>>): Promise<Row[]> => (await query.execute(db)).rows as Row[]

/** A registry that is played has digests of its own: beside real ones each of its tags would have been moved. */
const withoutDigests = (row: Row): Row =>
  typeof row.last_report === 'string' ? { ...row, last_report: row.last_report.replace(/"digest":"[^"]*"/g, '"digest":null') } : row

const mostValues = 20_000

/** A database in memory with the copy in it. */
export async function fleetDatabase(copy: FleetCopy): Promise<{ db: Db; close(): Promise<void> }> {
  const { db, close } = openDatabase('sqlite::memory:')
  await migrate(db)
  for (const [table, rows] of copy) {
    const perInsert = Math.max(1, Math.floor(mostValues / Object.keys(rows[0] ?? { one: 1 }).length))
    for (let from = 0; from < rows.length; from += perInsert)
      await db
        .insertInto(table as 'boxes')
        .values(rows.slice(from, from + perInsert) as never)
        .execute()
  }
  return { db, close }
}

/** Throws VALIDATION for a box or host that nobody knows: a slip in a name would be heard as "nothing would stop it". */
export function assertKnownNames(fleet: FleetCopy, { failProbes, failPulls, offlineHosts }: RehearsedFaults): void {
  const boxes = namesIn(fleet, 'boxes', 'slug')
  const hosts = namesIn(fleet, 'hosts', 'name')
  const unknown = [
    ...missing(boxes, failProbes, 'failProbes', 'box'),
    ...missing(boxes, failPulls, 'failPulls', 'box'),
    ...missing(hosts, offlineHosts, 'offlineHosts', 'host'),
  ]
  if (unknown.length === 0) return
  const lists = unknown.some(({ path }) => !path.includes('offlineHosts')) ? '`tenantry boxes list`' : '`tenantry hosts list`'
  throw problem('VALIDATION', `${unknown.map(({ reason }) => reason).join('; ')}: ${lists} shows all`, { details: unknown })
}

const namesIn = (fleet: FleetCopy, table: string, column: string): ReadonlySet<unknown> =>
  new Set(fleet.flatMap(([name, rows]) => (name === table ? rows.map((row) => row[column]) : [])))

const missing = (known: ReadonlySet<unknown>, named: readonly string[], field: string, what: 'box' | 'host'): FieldReason[] =>
  named.flatMap((name, at) => (known.has(name) ? [] : [{ path: `faults.${field}.${at}`, reason: `there is no ${what} ${name}` }]))
