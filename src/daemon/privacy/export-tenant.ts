import { sql } from 'kysely'
import { z } from 'zod'
import { noSuchPage } from '../../core/contract/index.ts'
import type { AdminActor, Clock, Random } from '../../core/kit/index.ts'
import { tableRules } from '../../core/privacy/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { type Keyring, seal, unseal } from '../sealed/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { isOfTenant } from './tenant-rows.ts'

export type ExportDeps = Readonly<{ db: Db; clock: Clock; random: Random; keyring: Keyring }>
type Input = Readonly<{ slug: string; cursor?: string | undefined }>
type Row = Readonly<Record<string, unknown>>

/** Rows of one page. A row of a run may have 256 KB. */
const pageSize = 100

const exported = Object.entries(tableRules).flatMap(([table, { tenant, export: key }]) =>
  key && tenant !== null ? [{ table, tenant, key }] : [],
)

/** A place in the export: when it began, the table, and the primary key of its last row; without a key the begin of the table. */
const Place = z.tuple([z.number(), z.string(), z.array(z.union([z.string(), z.number()])).max(4)])

/** An export that takes longer begins, and is audited, again. */
const maxExportMs = 24 * 60 * 60_000

/** A cursor is sealed, because it continues an export without an audit entry: only for the account and the tenant of the first page. */
const placeOf = (actor: AdminActor, tenantId: string) => ({
  table: 'tenants',
  row: `${tenantId}/${actor.accountId}`,
  column: 'export-cursor',
})

/**
 * One page of the rows of a tenant, table by table in the order of their keys. Changes while it is read may be missing. Audited with the first page.
 * Throws NOT_FOUND, VALIDATION for an invalid cursor.
 */
export async function exportTenant(deps: ExportDeps, actor: AdminActor, { slug, cursor }: Input) {
  const { db, clock } = deps
  const tenant = await existingTenant(db, slug)
  if (cursor === undefined)
    await db
      .transaction()
      .execute((tx) => recordAudit(tx, clock, { actor, action: 'tenant.exported', subject: slug, data: { tenantId: tenant.id } }))
  const sealedAt = placeOf(actor, tenant.id)
  const { startedMs, at, after } = readCursor(deps, { cursor, sealedAt })
  const { table, tenant: owner, key } = exported[at] as (typeof exported)[number]
  const columns = sql.join(key.map((name) => sql.ref(name)))
  const from = after.length === 0 ? sql`` : sql`and (${columns}) > (${sql.join(after)})`
  const { rows } = await sql<Row>`select * from ${sql.table(table)} where ${isOfTenant(owner, tenant.id)} ${from}
    order by ${columns} limit ${pageSize}`.execute(db)
  const last = rows[pageSize - 1]
  const next = last ? [table, key.map((name) => last[name])] : exported[at + 1] && [exported[at + 1]?.table, []]
  const nextCursor = next ? seal(deps, sealedAt, JSON.stringify([startedMs, ...next])) : null
  return { rows: rows.map((row) => ({ table, row })), nextCursor }
}

type At = Readonly<{ startedMs: number; at: number; after: readonly (string | number)[] }>
type Sealed = Readonly<{ cursor: string | undefined; sealedAt: ReturnType<typeof placeOf> }>

function readCursor({ clock, keyring }: ExportDeps, { cursor, sealedAt }: Sealed): At {
  const nowMs = clock.now().getTime()
  if (cursor === undefined) return { startedMs: nowMs, at: 0, after: [] }
  const [startedMs, name, after] = placeIn(keyring, cursor, sealedAt)
  if (nowMs - startedMs > maxExportMs) throw noSuchPage()
  const at = exported.findIndex(({ table }) => table === name)
  const key = exported[at]?.key
  // A newer version of the daemon may have other tables and keys.
  if (!key || ![0, key.length].includes(after.length)) throw noSuchPage()
  return { startedMs, at, after }
}

function placeIn(keyring: Keyring, cursor: string, sealedAt: Sealed['sealedAt']): z.output<typeof Place> {
  try {
    return Place.parse(JSON.parse(unseal(keyring, sealedAt, cursor).reveal()))
  } catch {
    throw noSuchPage()
  }
}
