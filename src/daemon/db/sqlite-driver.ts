import { createRequire } from 'node:module'
import type BetterSqlite from 'better-sqlite3'
import type { SqliteStatement } from 'kysely'
import { gte } from 'semver'
import { problem } from '../../core/kit/index.ts'

// The one place that knows a driver of SQLite: `node:sqlite`, or better-sqlite3 on a Node.js that has none or an old one.

/** An open database. Errors have the name of their SQLite code as `code`, such as SQLITE_BUSY. */
export type Connection = Readonly<{ exec(text: string): void; prepare(text: string): SqliteStatement; close(): void }>

/** Before, SQLite may corrupt a database that two processes write to: a restarted log could miss a commit. */
const oldestSafeSqlite = '3.51.3'

/** Opens a file, or `:memory:`. Throws CONFIG without a driver. */
export const openConnection = (file: string): Connection =>
  gte(process.versions.sqlite ?? '0.0.0', oldestSafeSqlite) ? openBuiltIn(file) : openBetterSqlite(file)

/** The part of `node:sqlite` that is used. */
type BuiltIn = Readonly<{ DatabaseSync: new (file: string) => Database }>
type Database = Readonly<{ exec(text: string): void; prepare(text: string): Statement; close(): void }>
type Statement = Readonly<{
  all(...parameters: unknown[]): unknown[]
  run(...parameters: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  columns(): readonly { name: string }[]
  setReturnArrays(enabled: boolean): void
}>

function openBuiltIn(file: string): Connection {
  const { DatabaseSync } = loadBuiltIn()
  const database = withNamedCodes(() => new DatabaseSync(file))
  return {
    exec: (text) => withNamedCodes(() => database.exec(text)),
    prepare: (text) => withNamedCodes(() => prepareBuiltIn(database, text)),
    close: () => withNamedCodes(() => database.close()),
  }
}

/** Node.js 22 warns that it is experimental, which would be printed by each command of an operator. */
function loadBuiltIn(): BuiltIn {
  const { emitWarning } = process
  process.emitWarning = (warning: string | Error, ...options: unknown[]) => {
    if (options[0] !== 'ExperimentalWarning') Reflect.apply(emitWarning, process, [warning, ...options])
  }
  try {
    return process.getBuiltinModule('node:sqlite') as BuiltIn
  } finally {
    process.emitWarning = emitWarning
  }
}

function prepareBuiltIn(database: Database, text: string): SqliteStatement {
  assertOneStatement(text)
  const statement = database.prepare(text)
  const names = statement.columns().map(({ name }) => name)
  // Its objects have no prototype, which makes them slow.
  statement.setReturnArrays(true)
  const all = (parameters: readonly unknown[]) =>
    withNamedCodes(() => statement.all(...bound(parameters)).map((values) => rowOf(names, values as unknown[])))
  return {
    reader: names.length > 0,
    all,
    run: (parameters) => withNamedCodes(() => statement.run(...bound(parameters))),
    iterate: (parameters) => all(parameters).values(),
  }
}

/** It would run the first one and ignore the others. */
function assertOneStatement(text: string): void {
  if (/;\s*\S/.test(text.replace(/'[^']*'|"[^"]*"|--[^\n]*/g, ''))) throw new Error(`more than one SQL statement: ${text}`)
}

function rowOf(names: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let at = 0; at < names.length; at++) row[names[at] as string] = ownBuffer(values[at])
  return row
}

const ownBuffer = (value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value

let betterSqlite: typeof BetterSqlite | undefined

function openBetterSqlite(file: string): Connection {
  betterSqlite ??= loadBetterSqlite()
  const database = new betterSqlite(file)
  const prepare = (text: string): SqliteStatement => {
    const statement = database.prepare<unknown[], unknown>(text)
    return {
      reader: statement.reader,
      all: (parameters) => statement.all(bound(parameters)),
      run: (parameters) => statement.run(bound(parameters)),
      iterate: (parameters) => statement.iterate(bound(parameters)),
    }
  }
  return { exec: (text) => database.exec(text), prepare, close: () => database.close() }
}

function loadBetterSqlite(): typeof BetterSqlite {
  try {
    const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite
    // It loads its native part when it opens a database.
    new Database(':memory:').close()
    return Database
  } catch (cause) {
    const what = `SQLite is not available: Node.js ${process.version} has none that is safe, and better-sqlite3 does not load`
    throw problem('CONFIG', `${what}. fix: install Node.js 22.23, 24.16 or newer, or set TENANTRY_DATABASE to a PostgreSQL database`, {
      cause,
    })
  }
}

/** As on PostgreSQL, undefined is NULL and a whole number is an integer: SQLite drivers bind each number as a real one (`1.0` as text). */
const bound = (parameters: readonly unknown[]): unknown[] =>
  parameters.map((value) => (Number.isSafeInteger(value) ? BigInt(value as number) : (value ?? null)))

/** The names, in better-sqlite3, of those codes that the daemon distinguishes. */
const codeNames: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  13: 'SQLITE_FULL',
  261: 'SQLITE_BUSY_RECOVERY',
  517: 'SQLITE_BUSY_SNAPSHOT',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
}

function withNamedCodes<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    const code = codeNames[(error as { errcode?: number }).errcode ?? 0]
    throw code === undefined ? error : Object.assign(error as Error, { code })
  }
}
