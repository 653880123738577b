import { type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import { expect } from 'vitest'
import type { Db } from '../../src/daemon/db/index.ts'
import { grownTables } from './grown-registry.ts'

// How the database looks for the rows of what is asked: the tables that it reads from end to end, however large they are.

/** Of work that asks the database at all: what it read from end to end. */
export async function wholeReadsOf(overheard: Overheard, work: () => Promise<unknown>): Promise<WholeRead[]> {
  const { statements, wholeReads } = await overheard.during(work)
  expect(statements).toBeGreaterThan(0)
  return wholeReads
}

/** What was asked, and by what words. */
type WholeRead = Readonly<{ table: string; said: string }>

export type Overheard = Readonly<{
  /** Whatever is asked through it is overheard. */
  db: Db
  /** All statements of the work, and which of them read a table from end to end. */
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

/** A partial index holds only what is looked for by it: reading all of it is what it is for. */
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

/** SQLite plans without looking at values, so those that are not known yet do no harm. */
const onSqlite: Explain = async (db, compiled, partial) => {
  const parameters = compiled.parameters.map((value) => (isObject(value) ? null : value))
  const { rows } = await db.executeQuery<{ detail: string }>({ ...compiled, sql: `explain query plan ${compiled.sql}`, parameters })
  return rows.flatMap(({ detail }) => {
    // Nearly all boxes are live: who looks for them by that alone reads them all.
    const [, name, index] =
      /^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?/.exec(detail) ?? /^SEARCH (\w+) .*\(live=\?\)/.exec(detail) ?? []
    if (name === undefined || (index !== undefined && partial.has(index))) return []
    return [new RegExp(`"?(\\w+)"? as "?${name}"?[\\s,)]`).exec(compiled.sql)?.[1] ?? name]
  })
}

type Plan = Readonly<{ 'Node Type': string; 'Relation Name'?: string; 'Index Name'?: string; 'Index Cond'?: string }> &
  Readonly<{ Filter?: string; Plans?: readonly Plan[] }>

/** Statements that are built once have no values yet: of these the plan for any value is asked for. */
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

/** The first along an index is found at once, unless it has to be one of which the index does not know. */
function isWhole(plan: Plan, partial: ReadonlySet<string>, isFirstOnly: boolean): boolean {
  if (plan['Node Type'] === 'Seq Scan') return true
  const isWalk = /^Index (Only )?Scan$/.test(plan['Node Type']) && plan['Index Cond'] === undefined
  return isWalk && !(isFirstOnly && plan.Filter === undefined) && !partial.has(plan['Index Name'] ?? '')
}

const explain = { sqlite: onSqlite, postgres: onPostgres }
