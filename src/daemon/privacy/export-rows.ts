import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { noSuchPage } from '../../core/contract/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { type Keyring, seal, unseal } from '../sealed/index.ts'

export type ExportDeps = Readonly<{ db: Db; clock: Clock; random: Random; keyring: Keyring }>
type Row = Readonly<Record<string, unknown>>

/** Rows of one table that an export reads: `where` chooses them, `key` is the primary key, `omit` the columns that it leaves out. */
type ExportSource = Readonly<{
  table: string
  key: readonly string[]
  where: RawBuilder<unknown>
  omit?: readonly string[] | undefined
}>

/** Rows of one page. A row of a run may have 256 KB. */
const pageSize = 100

/** A place in the export: when it began, the table, and the primary key of its last row; without a key the begin of the table. */
const Place = z.tuple([z.number(), z.string(), z.array(z.union([z.string(), z.number()])).max(4)])

/** An export that takes longer begins, and is audited, again. */
const maxExportMs = 24 * 60 * 60_000

/** `whose`: caller and subject. A cursor is sealed for them, because it continues an export without an audit entry. */
type Page = Readonly<{ sources: readonly ExportSource[]; whose: string; cursor: string | undefined }>

const placeOf = (whose: string) => ({ table: 'tenants', row: whose, column: 'export-cursor' })

/** One page of the rows, table by table in the order of their keys. Changes while it is read may be missing. Throws VALIDATION for an invalid cursor. */
export async function exportRows(deps: ExportDeps, { sources, whose, cursor }: Page) {
  const sealedAt = placeOf(whose)
  const { startedMs, at, after } = readCursor(deps, { sources, cursor, sealedAt })
  const { table, where, key, omit = [] } = sources[at] as ExportSource
  const columns = sql.join(key.map((name) => sql.ref(name)))
  const from = after.length === 0 ? sql`` : sql`and (${columns}) > (${sql.join(after)})`
  const { rows } = await sql<Row>`select * from ${sql.table(table)} where ${where} ${from}
    order by ${columns} limit ${pageSize}`.execute(deps.db)
  const last = rows[pageSize - 1]
  const following = sources[at + 1]
  const next = last ? [table, key.map((name) => last[name])] : following && [following.table, []]
  const nextCursor = next ? seal(deps, sealedAt, JSON.stringify([startedMs, ...next])) : null
  return { rows: rows.map((row) => ({ table, row: without(row, omit) })), nextCursor }
}

const without = (row: Row, omit: readonly string[]): Row =>
  omit.length === 0 ? row : Object.fromEntries(Object.entries(row).filter(([name]) => !omit.includes(name)))

type At = Readonly<{ startedMs: number; at: number; after: readonly (string | number)[] }>
type Sealed = Readonly<{ sources: readonly ExportSource[]; cursor: string | undefined; sealedAt: ReturnType<typeof placeOf> }>

function readCursor({ clock, keyring }: ExportDeps, { sources, cursor, sealedAt }: Sealed): At {
  const nowMs = clock.now().getTime()
  if (cursor === undefined) return { startedMs: nowMs, at: 0, after: [] }
  const [startedMs, name, after] = placeIn(keyring, cursor, sealedAt)
  if (nowMs - startedMs > maxExportMs) throw noSuchPage()
  const at = sources.findIndex(({ table }) => table === name)
  const key = sources[at]?.key
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
