import { sql } from 'kysely'
import type { TestProject } from 'vitest/node'
import { migrate, openDatabase } from '../../src/daemon/db/index.ts'
import { embeddedPostgres } from './embedded-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    /** The name of a migrated database that is never opened: the template of the test databases. */
    migratedDatabase: string
  }
}

async function migratedDatabase(url: string): Promise<string> {
  const name = 'migrated'
  const admin = openDatabase(url)
  await sql`create database ${sql.id(name)}`.execute(admin.db)
  await admin.close()
  const { db, close } = openDatabase(url.replace(/\/postgres$/, `/${name}`))
  await migrate(db)
  await close()
  return name
}

/** Starts one PostgreSQL for the whole test run; `databases()` creates a database in it for each suite. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, close } = await embeddedPostgres()
  project.provide('postgresUrl', url)
  project.provide('migratedDatabase', await migratedDatabase(url))
  return close
}
