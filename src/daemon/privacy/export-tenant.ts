import { sql } from 'kysely'
import { z } from 'zod'
import { noSuchPage } from '../../core/contract/index.ts'
import type { Actor, Clock } from '../../core/kit/index.ts'
import { tableRules } from '../../core/privacy/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { isOfTenant } from './tenant-rows.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>
type Input = Readonly<{ slug: string; cursor?: string | undefined }>
type Row = Readonly<Record<string, unknown>>

/** Rows of one page. A row of a run may have 256 KB. */
const pageSize = 100

const exported = Object.entries(tableRules).flatMap(([table, { tenant, export: key }]) =>
  key && tenant !== null ? [{ table, tenant, key }] : [],
)

/** A place in the export: the table, and the primary key of its last row; without a key the begin of the table. */
const Place = z.tuple([z.string(), z.array(z.union([z.string(), z.number()])).max(4)])

/**
 * One page of the rows of a tenant, table by table in the order of their keys. Changes while it is read may be missing. Audited with the first page.
 * Throws NOT_FOUND, VALIDATION for an invalid cursor.
 */
export async function exportTenant({ db, clock }: Deps, actor: Actor, { slug, cursor }: Input) {
  const tenant = await existingTenant(db, slug)
  if (cursor === undefined)
    await db
      .transaction()
      .execute((tx) => recordAudit(tx, clock, { actor, action: 'tenant.exported', subject: slug, data: { tenantId: tenant.id } }))
  const { at, after } = readCursor(cursor)
  const { table, tenant: owner, key } = exported[at] as (typeof exported)[number]
  const columns = sql.join(key.map((name) => sql.ref(name)))
  const from = after.length === 0 ? sql`` : sql`and (${columns}) > (${sql.join(after)})`
  const { rows } = await sql<Row>`select * from ${sql.table(table)} where ${isOfTenant(owner, tenant.id)} ${from}
    order by ${columns} limit ${pageSize}`.execute(db)
  const last = rows[pageSize - 1]
  const next = last ? [table, key.map((name) => last[name])] : exported[at + 1] && [exported[at + 1]?.table, []]
  return { rows: rows.map((row) => ({ table, row })), nextCursor: next ? Buffer.from(JSON.stringify(next)).toString('base64url') : null }
}

type At = Readonly<{ at: number; after: readonly (string | number)[] }>

function readCursor(cursor: string | undefined): At {
  if (cursor === undefined) return { at: 0, after: [] }
  const place = Place.safeParse(jsonIn(cursor))
  const at = exported.findIndex(({ table }) => table === place.data?.[0])
  const after = place.data?.[1] ?? []
  const key = exported[at]?.key
  if (!key || (after.length > 0 && !(after.length === key.length && after.every((value, n) => isOf(key[n] as string, value)))))
    throw noSuchPage()
  return { at, after }
}

const numbers = new Set(['seq', 'version', 'generation'])

/** PostgreSQL refuses a value of another type, and text with a zero byte. */
const isOf = (column: string, value: string | number): boolean =>
  numbers.has(column) ? Number.isSafeInteger(value) : typeof value === 'string' && !value.includes('\0')

function jsonIn(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}
