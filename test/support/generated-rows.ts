import { sql } from 'kysely'
import { tableRules } from '../../src/core/privacy/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { isOfTenant } from '../../src/daemon/privacy/tenant-rows.ts'

// A row of a tenant in every table that `table-rules.ts` gives to tenants: a table of a new feature gets one without a line here.

type Row = Readonly<Record<string, unknown>>
type Column = Readonly<{ name: string; isNullable: boolean; dataType: string }>
export type Owner = Readonly<{ tenantId: string; slug: string; word: string }>
type Filling = Readonly<{ db: Db; owner: Owner; columns: ReadonlyMap<string, readonly Column[]>; rows: Map<string, Row> }>

const past = '2026-01-05T08:00:00.000Z'
const never = '2999-01-01T00:00:00.000Z'

/** By column, or by table and column where it differs: a value that periodic jobs have nothing to do with. Everything else has the marker. */
const fixed: Readonly<Record<string, unknown>> = {
  kind: 'cron',
  plan: null,
  minute: past,
  members: '[]',
  'run_messages.status': 'sent',
  'commands.status': 'done',
  'box_moves.state': 'done',
  'box_removals.state': 'removed',
  'box_restores.status': 'restored',
  'snapshots.status': 'available',
  'billing_usage.state': 'waived',
  'billing_reports.sent_at': past,
  'payment_attempts.finished_at': past,
  'trigger_occurrences.outcome': 'started',
  'boxes.drift_severity': 'none',
  'boxes.public_url': 'https://chat.example',
  'boxes.live': 1,
  'boxes.managed': 0,
  'boxes.findings': '[]',
  'hosts.status': 'revoked',
  'tenant_billing.status': 'active',
  'run_timers.paused': 1,
  'box_moves.finished_at': past,
  'box_removals.finished_at': past,
  'commands.finished_at': past,
  'maintenance_notices.status': 'done',
  'maintenance_notices.starts_at': past,
  'maintenance_notices.ends_by': past,
  'maintenance_notices.announced_at': past,
  'maintenance_notices.ended_at': past,
}

/** Fills the tables that have no row of the tenant, and returns its rows by table: the first one of each. */
export async function fillTables(db: Db, owner: Owner): Promise<ReadonlyMap<string, Row>> {
  const tables = await db.introspection.getTables()
  const filling = { db, owner, columns: new Map(tables.map(({ name, columns }) => [name, columns])), rows: new Map<string, Row>() }
  const owned = Object.entries(tableRules).flatMap(([table, { tenant }]) => (tenant === null ? [] : [[table, tenant] as const]))
  for (const [table, tenant] of owned) {
    const { rows } = await sql<Row>`select * from ${sql.table(table)} where ${isOfTenant(tenant, owner.tenantId)} limit 1`.execute(db)
    if (rows[0]) filling.rows.set(table, rows[0])
  }
  for (const [table] of owned) await rowOf(filling, table)
  return filling.rows
}

/** The tables of tenants without a row of this one. */
export async function emptyTables(db: Db, tenantId: string): Promise<readonly string[]> {
  const empty: string[] = []
  for (const [table, { tenant }] of Object.entries(tableRules)) {
    if (tenant === null) continue
    const { rows } = await sql`select 1 from ${sql.table(table)} where ${isOfTenant(tenant, tenantId)} limit 1`.execute(db)
    if (rows.length === 0) empty.push(table)
  }
  return empty
}

const isOfTenants = (table: string) => Boolean(tableRules[table]?.tenant)

/** The tenant's row of a table, or any row of a table of the platform; generates one. */
async function rowOf(filling: Filling, table: string): Promise<Row> {
  const { db, rows, columns } = filling
  const known =
    rows.get(table) ??
    (isOfTenants(table)
      ? undefined
      : await db
          .selectFrom(table as never)
          .selectAll()
          .limit(1)
          .executeTakeFirst())
  if (known) return known
  const row: Record<string, unknown> = {}
  for (const column of columns.get(table) ?? []) row[column.name] = await makeValue(filling, table, column)
  try {
    await db
      .insertInto(table as never)
      .values(row as never)
      .execute()
  } catch (err) {
    throw new Error(`${table}: no row was generated (test/support/generated-rows.ts); add a value to \`fixed\``, { cause: err })
  }
  rows.set(table, row)
  return row
}

async function makeValue(filling: Filling, table: string, { name, isNullable, dataType }: Column): Promise<unknown> {
  const { tenantId, slug } = filling.owner
  const word = isOfTenants(table) ? filling.owner.word : 'platform'
  const key = `${table}.${name}` in fixed ? `${table}.${name}` : name
  if (key in fixed) return fixed[key]
  if (name === 'tenant_id') return tenantId
  if (name === 'slug') return slug
  if (name === 'month') return '2026-01'
  const target = name.endsWith('_id') ? referenced(filling, table, name) : undefined
  if (target) return (await rowOf(filling, target)).id
  if (isNullable && name !== filling.columns.get(table)?.[0]?.name) return null
  // Ids hold no marker: tests send them.
  if (/(^|_)id$/.test(name)) return `${slug}-${table}-${name}`
  if (name.endsWith('_port')) return 20_000 + slug.charCodeAt(0)
  if (/int|numeric/i.test(dataType)) return 1
  if (/_at$|^(at|since|until)$|_until$|_end$|_from$/.test(name))
    return /(^until|due_at|expires_at|deadline_at|_end|_until)$/.test(name) ? never : past
  return `${word} ${table} ${name}`
}

/** The table whose `id` a column holds: `host_id` and `from_host_id` are of `hosts`, `developer_id` is of `store_developers`. */
function referenced({ columns }: Filling, from: string, column: string): string | undefined {
  const word = column.split('_').at(-2) ?? ''
  const plural = word.endsWith('x') ? `${word}es` : `${word}s`
  const hasId = [...columns.keys()].filter((table) => table !== from && columns.get(table)?.[0]?.name === 'id')
  return hasId.find((table) => table === plural) ?? hasId.find((table) => table.endsWith(`_${plural}`) && isOfTenants(table))
}
