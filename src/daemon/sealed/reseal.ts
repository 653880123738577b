import { sql } from 'kysely'
import type { Random } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { type Keyring, seal, unseal } from './seal.ts'

/** A column that holds sealed values; `key` is the column whose value they were sealed to as `row`. Each room lists its own. */
export type SealedColumn = Readonly<{ table: string; column: string; key: string }>

type Deps = Readonly<{ db: Db; random: Random; keyring: Keyring }>

/** Seals every value of a column again with the newest key; returns how many used an older one. Safe while a daemon runs. */
export async function reseal({ db, random, keyring }: Deps, where: SealedColumn): Promise<number> {
  const { table, column, key } = where
  const newest = `${keyring.keys[0]?.id}.`
  const older = (await sealedValues(db, where)).filter(({ value }) => !value.startsWith(newest))
  for (const { row, value } of older) {
    const place = { table, row, column }
    const resealed = seal({ keyring, random }, place, unseal(keyring, place, value))
    // Guarded by the value that was opened: what the daemon replaced meanwhile stays.
    const guard = sql`${sql.ref(key)} = ${row} and ${sql.ref(column)} = ${value}`
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${resealed} where ${guard}`.execute(db)
  }
  return older.length
}

/** Throws SEALED_UNREADABLE at the first value of the column that does not open. */
export async function opensAll({ db, keyring }: Pick<Deps, 'db' | 'keyring'>, where: SealedColumn): Promise<void> {
  for (const { row, value } of await sealedValues(db, where)) unseal(keyring, { table: where.table, row, column: where.column }, value)
}

async function sealedValues(db: Db, { table, column, key }: SealedColumn): Promise<{ row: string; value: string }[]> {
  const { rows } = await sql<{ row: string; value: string }>`
    select ${sql.ref(key)} as "row", ${sql.ref(column)} as value from ${sql.table(table)} where ${sql.ref(column)} is not null`.execute(db)
  return rows
}

/** Columns anywhere in the database that still hold a value of an older key: a column that no room declared shows here. */
export async function staleColumns({ db, keyring }: Pick<Deps, 'db' | 'keyring'>): Promise<string[]> {
  const stale: string[] = []
  for (const { name: table, columns } of await db.introspection.getTables()) {
    for (const { name: column } of columns.filter((one) => one.dataType.toLowerCase() === 'text')) {
      if (await holdsOldKey({ db, keyring }, table, column)) stale.push(`${table}.${column}`)
    }
  }
  return stale
}

async function holdsOldKey({ db, keyring }: Readonly<{ db: Db; keyring: Keyring }>, table: string, column: string): Promise<boolean> {
  const [, ...older] = keyring.keys
  for (const { id } of older) {
    const { rows } = await sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} like ${`${id}.%`} limit 1`.execute(db)
    if (rows.length > 0) return true
  }
  return false
}
