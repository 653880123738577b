import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, describe, inject } from 'vitest'
import { type Db, migrate, openDatabase } from '../../src/daemon/db/index.ts'

type Opened = { db: Db; url: string }

/** Opens an empty, migrated database of the dialect; the caller closes it with `db.destroy()`. */
export async function emptyDatabase(dialect: 'sqlite' | 'postgres'): Promise<Opened> {
  const url = dialect === 'sqlite' ? 'sqlite::memory:' : await createPostgresDatabase()
  const { db } = openDatabase(url)
  await migrate(db)
  return { db, url }
}

/** An empty PostgreSQL database without tables; its URL. */
export async function createPostgresDatabase(): Promise<string> {
  const admin = openDatabase(inject('postgresUrl'))
  const name = `t_${randomBytes(8).toString('hex')}`
  await sql`create database ${sql.id(name)}`.execute(admin.db)
  await admin.close()
  return inject('postgresUrl').replace(/\/postgres$/, `/${name}`)
}

/** The database as one meets it to whom something happens right before the first transaction. */
export function inBetween(db: Db, happens: () => Promise<unknown>): Db {
  let happened: Promise<unknown> | undefined
  const transaction = () => ({
    execute: async (work: Parameters<ReturnType<Db['transaction']>['execute']>[0]) => {
      happened ??= happens()
      await happened
      return db.transaction().execute(work)
    },
  })
  return new Proxy(db, {
    get: (of, key) => {
      if (key === 'transaction') return transaction
      const value = Reflect.get(of, key)
      return typeof value === 'function' ? value.bind(of) : value
    },
  })
}

/** Runs a contract suite once on SQLite and once on PostgreSQL; `fresh()` gives each test an empty, migrated database. */
export function onBothDialects(title: string, suite: (fresh: () => Promise<Db>, dialect: 'sqlite' | 'postgres') => void): void {
  for (const dialect of ['sqlite', 'postgres'] as const) {
    describe(`${title} (${dialect})`, () => {
      const opened: Db[] = []
      const fresh = async () => {
        const { db } = await emptyDatabase(dialect)
        opened.push(db)
        return db
      }
      afterAll(async () => {
        await Promise.all(opened.map((db) => db.destroy()))
      })
      suite(fresh, dialect)
    })
  }
}
