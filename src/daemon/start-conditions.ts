import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import type { BoxMigration, SynapseSchemas } from '../core/boxes/index.ts'
import { isProblem, type Problem, problem } from '../core/kit/index.ts'
import type { RoleBook } from '../core/users/index.ts'
import { egressRules, packageRoot } from '../node/index.ts'
import { assertChannelFiles } from './alerts/index.ts'
import { loadBoxMigrations } from './boxes/index.ts'
import type { Config } from './config/index.ts'
import { assertDatabaseUrl } from './db/index.ts'
import { plainNetworks } from './homeserver/index.ts'
import { assertWindows } from './hosts/index.ts'
import { assertRedisUrl } from './limits/index.ts'
import { objectPlace } from './objects/index.ts'
import { loadSynapseSchemas } from './rollouts/index.ts'
import { readKeyring } from './sealed/index.ts'
import { readMetricsToken } from './service/index.ts'
import { loadRoleBook } from './users/index.ts'

/** Files that the daemon reads once. */
export type StartFiles = Readonly<{ migrations: readonly BoxMigration[]; schemas: SynapseSchemas; roles: RoleBook }>

/**
 * Reads the start files and checks the settings against each other and against this machine, for `serve` and `check-config` alike.
 * Changes nothing, and contacts no database and no other server. Throws a single error as it is, several as one CONFIG_INVALID.
 */
export async function assertStartable(config: Config): Promise<StartFiles> {
  const roles = () => loadRoleBook(config.roles ?? packageRoot('config/roles.yaml'))
  const checks: Readonly<Record<string, () => unknown>> = {
    listen: () => assertListenable(config.listen),
    dataDir: () => assertFolder(config.dataDir),
    restore: () => assertNoOpenRestore(config.dataDir),
    secretKey: () => readKeyring(config),
    database: () => assertDatabaseUrl(config.databaseUrl, config.dataDir),
    redis: () => (config.redis === undefined ? undefined : assertRedisUrl(config.redis)),
    agents: () => assertWindows(config.agents),
    objectStore: () => objectPlace(config),
    'alerts.channels': () => assertChannelFiles(config.alerts.channels),
    egress: () => egressRules(config.egress.allow),
    homeservers: () => plainNetworks(config.homeservers.privateNetworks),
    metrics: () => readMetricsToken(config.metrics),
    roles,
  }
  const details: { path: string; reason: string }[] = []
  const problems: Problem[] = []
  for (const [path, check] of Object.entries(checks)) {
    const found = await problemOf(check)
    if (!found) continue
    problems.push(found)
    details.push({ path, reason: found.message })
  }
  const [first, ...others] = problems
  if (first && others.length === 0) throw first
  if (first) throw problem('CONFIG_INVALID', `${problems.length} settings are not valid`, { details })
  const [migrations, schemas] = [packageRoot('config/box-migrations'), packageRoot('config/synapse-schema.yaml')]
  return { migrations: await loadBoxMigrations(migrations), schemas: await loadSynapseSchemas(schemas), roles: await roles() }
}

async function problemOf(check: () => unknown): Promise<Problem | undefined> {
  try {
    await check()
    return undefined
  } catch (error) {
    if (isProblem(error)) return error
    throw error
  }
}

/** Listens on another port of the address: a running daemon has the configured one. */
async function assertListenable(listen: string): Promise<void> {
  const host = listen.slice(0, listen.lastIndexOf(':')).replace(/^\[|\]$/g, '')
  const server = createServer()
  const code = await new Promise<string | undefined>((done) => {
    server.once('error', (error: NodeJS.ErrnoException) => done(error.code))
    server.listen(0, host, () => server.close(() => done(undefined)))
  })
  if (code === undefined) return
  throw problem(
    'CONFIG_INVALID',
    `Cannot listen on ${host}: it is not an address of this machine (${code}). fix: set TENANTRY_LISTEN to 127.0.0.1:8440, or to an address that \`ip addr\` shows`,
  )
}

/** The directory, or the nearest one above it in which it will be created. */
async function assertFolder(dataDir: string): Promise<void> {
  const existing = await nearestExisting(resolve(dataDir))
  if (!(await stat(existing)).isDirectory())
    throw problem('CONFIG_INVALID', `The data directory ${existing} is not a directory. fix: set TENANTRY_DATA_DIR to a directory`)
  const isWritable = await access(existing, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (isWritable) return
  throw problem(
    'CONFIG_INVALID',
    `The data directory ${existing} is not writable by this user. fix: run as its owner, or set TENANTRY_DATA_DIR to another directory`,
  )
}

/** Exists while `tenantryd restore` runs. */
export const restoringFile = (dataDir: string): string => join(resolve(dataDir), 'restoring')

/** Until its end, rollouts of the backup would go on, and snapshots taken since would expire as unknown ones. */
async function assertNoOpenRestore(dataDir: string): Promise<void> {
  const path = restoringFile(dataDir)
  if (!(await stat(path).catch(() => undefined))) return
  throw problem(
    'CONFIG_INVALID',
    `A restore of this daemon was interrupted. fix: empty its database and run \`tenantryd restore\` again, or delete ${path} to start with what was restored`,
  )
}

const nearestExisting = async (path: string): Promise<string> => {
  const exists = await stat(path).then(
    () => true,
    () => false,
  )
  return exists ? path : nearestExisting(dirname(path))
}
