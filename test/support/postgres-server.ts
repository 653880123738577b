import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers the URL of the PostgreSQL of this test run. */
    postgresAt: string
  }
}

/** The name of a migrated database that is never opened: the template of the test databases. */
export const migratedDatabase = 'migrated'

/** Imported here, so that a run without PostgreSQL reads neither the migrations nor the server. */
async function startPostgres() {
  const [{ sql }, { migrate, openDatabase }, { embeddedPostgres }] = await Promise.all([
    import('kysely'),
    import('../../src/daemon/db/index.ts'),
    import('./embedded-postgres.ts'),
  ])
  const { url, close } = await embeddedPostgres()
  const admin = openDatabase(url)
  await sql`create database ${sql.id(migratedDatabase)}`.execute(admin.db)
  await admin.close()
  const migrated = openDatabase(url.replace(/\/postgres$/, `/${migratedDatabase}`))
  await migrate(migrated.db)
  await migrated.close()
  return { url, close }
}

/** One PostgreSQL for the whole test run. It starts when the first test asks for its URL: most runs of a few files need none. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let started: ReturnType<typeof startPostgres> | undefined
  const server = createServer((_, response) => {
    started ??= startPostgres()
    started.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  project.provide('postgresAt', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return async () => {
    server.close()
    server.closeAllConnections()
    await (await started)?.close()
  }
}
