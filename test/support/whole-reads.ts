import { type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import { expect } from 'vitest'
import type { Db } from '../../src/daemon/db/index.ts'
import { grownTables } from './grown-registry.ts'

// Full scans: the tables that the database reads completely for the statements of some work, at any size.

/** Full scans of work that runs at least one statement. */
export async function wholeReadsOf(overheard: Overheard, work: () => Promise<unknown>): Promise<WholeRead[]> {
  const { statements, wholeReads } = await overheard.during(work)
  expect(statements).toBeGreaterThan(0)
  return wholeReads
}

/** The statements and their plans. */
type WholeRead = Readonly<{ table: string; said: string }>

export type Overheard = Readonly<{
  /** Records every statement run through it. */
  db: Db
  /** All statements of the work, and those that scan a table. */
  during(work: () => Promise<unknown>): Promise<Readonly<{ statements: number; wholeReads: WholeRead[] }>>
}>

export function overhear(quiet: Db, dialect: 'sqlite' | 'postgres'): Overheard {
  let said: RootOperationNode[] = []
  const listening: KyselyPlugin = {
    transformQuery: ({ node }) => {
      said.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const during: Overheard['during'] = async (work) => {
    said = []
    await work()
    const heard = said
    const partial = await partialIndexes[dialect](quiet)
    const wholeReads: WholeRead[] = []
    const seen = new Set<string>()
    for (const node of heard) {
      const compiled = quiet.getExecutor().compileQuery(node, { queryId: 'plan' })
      if (seen.has(compiled.sql) || !/^\s*(select|insert|update|delete|with)\b/i.test(compiled.sql)) continue
      seen.add(compiled.sql)
      const tables = await explain[dialect](quiet, compiled, partial)
      for (const table of new Set(tables)) if (grownTables.includes(table)) wholeReads.push({ table, said: compiled.sql })
    }
    return { statements: heard.length, wholeReads }
  }
  return { db: quiet.withPlugin(listening), during }
}

type Compiled = ReturnType<ReturnType<Db['getExecutor']>['compileQuery']>
type Explain = (db: Db, compiled: Compiled, partial: ReadonlySet<string>) => Promise<string[]>

/** A partial index contains only matching rows: scanning all of it is its purpose. */
const partialIndexes = {
  sqlite: async (db: Db) => namesOf(await sql<{ name: string }>`select name from sqlite_master where sql like '% where %'`.execute(db)),
  postgres: async (db: Db) =>
    namesOf(
      await sql<{ name: string }>`select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indpred is not null`.execute(db),
    ),
}

const namesOf = ({ rows }: { rows: readonly { name: string }[] }): ReadonlySet<string> => new Set(rows.map(({ name }) => name))

const isObject = (value: unknown) => typeof value === 'object' && value !== null

/** SQLite plans without values, so unknown parameters do no harm. */
const onSqlite: Explain = async (db, compiled, partial) => {
  const parameters = compiled.parameters.map((value) => (isObject(value) ? null : value))
  const { rows } = await db.executeQuery<{ detail: string }>({ ...compiled, sql: `explain query plan ${compiled.sql}`, parameters })
  return rows.flatMap(({ detail }) => {
    // Nearly all boxes are live: a filter on that alone reads them all.
    const [, name, index] =
      /^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?/.exec(detail) ?? /^SEARCH (\w+) .*\(live=\?\)/.exec(detail) ?? []
    if (name === undefined || (index !== undefined && partial.has(index))) return []
    return [new RegExp(`"?(\\w+)"? as "?${name}"?[\\s,)]`).exec(compiled.sql)?.[1] ?? name]
  })
}

type Plan = Readonly<{ 'Node Type': string; 'Relation Name'?: string; 'Index Name'?: string; 'Index Cond'?: string }> &
  Readonly<{ Filter?: string; Plans?: readonly Plan[] }>

/** Statements built once have no values yet: their generic plan is used. */
const onPostgres: Explain = async (db, compiled, partial) => {
  const isOpen = compiled.parameters.some(isObject)
  const words = isOpen ? 'explain (generic_plan, format json)' : 'explain (format json)'
  const parameters = isOpen ? [] : compiled.parameters
  const { rows } = await db.executeQuery<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>({
    ...compiled,
    sql: `${words} ${compiled.sql}`,
    parameters,
  })
  const whole = (plan: Plan, isFirstOnly = false): string[] => [
    ...(isWhole(plan, partial, isFirstOnly) && plan['Relation Name'] !== undefined ? [plan['Relation Name']] : []),
    ...(plan.Plans ?? []).flatMap((one) => whole(one, plan['Node Type'] === 'Limit')),
  ]
  return rows[0]?.['QUERY PLAN'].flatMap(({ Plan }) => whole(Plan)) ?? []
}

/** The first row of an index is found at once, unless the order needs a column outside the index. */
function isWhole(plan: Plan, partial: ReadonlySet<string>, isFirstOnly: boolean): boolean {
  if (plan['Node Type'] === 'Seq Scan') return true
  const isWalk = /^Index (Only )?Scan$/.test(plan['Node Type']) && plan['Index Cond'] === undefined
  return isWalk && !(isFirstOnly && plan.Filter === undefined) && !partial.has(plan['Index Name'] ?? '')
}

const explain = { sqlite: onSqlite, postgres: onPostgres }
