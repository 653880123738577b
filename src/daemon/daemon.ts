import { setMaxListeners } from 'node:events'
import { mkdir } from 'node:fs/promises'
import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { type Clock, problem, type Random } from '../core/kit/index.ts'
import type { PaymentProvider } from '../core/payments/index.ts'
import { buildVersion, type Logger, packageRoot, readUtf8, type Tracing } from '../node/index.ts'
import type { LoginLinks } from './admin/index.ts'
import { compose } from './app/index.ts'
import { importManifest } from './boxes/index.ts'
import type { Config } from './config/index.ts'
import { webPages } from './console/index.ts'
import { migrate, openDatabase } from './db/index.ts'
import { buildApp, capConnections, sharedAddresses } from './http/index.ts'
import { assertCurrency } from './payments/index.ts'
import type { Rehearse } from './rollouts/index.ts'
import { loadKeyring } from './sealed/index.ts'
import { assertStartable } from './start-conditions.ts'

export type DaemonDeps = Readonly<{
  config: Config
  clock: Clock
  random: Random
  log: Logger
  validateAnswers?: boolean
  /** Runs rehearsals in a worker thread: they would block the daemon's own. */
  rehearse?: Rehearse
  /** Instead of the payment provider of the settings. */
  provider?: PaymentProvider
  loginLinks?: LoginLinks
}>

/** A running daemon. `close` finishes requests, hands work back to other replicas, and closes the database. */
export type Daemon = Readonly<{ url: string; close(): Promise<void> }>

/** Brings a daemon up: settings checked, database migrated, rooms wired, port open. Throws a Problem when it cannot start. */
export async function startDaemon({
  config,
  clock,
  random,
  log,
  validateAnswers = false,
  rehearse,
  provider,
  loginLinks,
}: DaemonDeps): Promise<Daemon> {
  const { migrations, schemas, roles: book } = await assertStartable(config)
  const roles = { ...book, operatorTenant: config.operatorTenant }
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  const keyring = await loadKeyring({ random }, config)
  log.info({ version: buildVersion() }, 'tenantryd starting')
  const { db, close: closeDatabase } = openDatabase(config.databaseUrl, { statementTimeoutMs: config.databaseTimeoutMs })
  const ends = [closeDatabase]
  const end = async () => {
    for (const close of ends) await close()
  }
  const stopping = new AbortController()
  setMaxListeners(0, stopping.signal) // each long poll and stream listens to it
  try {
    const tracing = await tracingOf(config, clock, log)
    if (tracing) ends.push(tracing.close)
    await migrate(db)
    await assertCurrency(db, config.payments)
    await importManifest({ db, clock, migrations }, await readUtf8(packageRoot('config/manifest.yaml')))
    const { served, authenticate, metrics, limits, outermost, begin } = await compose({
      config,
      db,
      keyring,
      clock,
      random,
      log,
      tracing,
      migrations,
      schemas,
      roles,
      rehearse,
      provider,
      loginLinks,
      draining: stopping.signal,
    })
    const { trustedProxies } = config
    ends.unshift(limits.close)
    const deps = {
      authenticate,
      clock,
      random,
      log,
      tracing,
      metrics,
      limits,
      outermost,
      pages: webPages(config.baseUrl),
      draining: stopping.signal,
      trustedProxies,
      validateAnswers,
    }
    const server = await listen(buildApp(served, deps), { config, log })
    const loops = begin()
    log.info({ url: config.baseUrl, database: config.databaseUrl.split(':')[0] }, 'tenantryd is ready')
    const close = async () => {
      stopping.abort()
      await Promise.all([closeServer(server, { isBehindProxy: trustedProxies.length > 0 }), ...loops])
      await end()
    }
    return { url: config.baseUrl, close }
  } catch (error) {
    stopping.abort()
    await end()
    throw error
  }
}

/** Loaded only where it is on. */
async function tracingOf({ tracing }: Config, clock: Clock, log: Logger): Promise<Tracing | undefined> {
  if (tracing.endpoint === undefined) return undefined
  const { openTracing } = await import('../node/otlp.ts')
  const { endpoint, sampleRatio } = tracing
  return openTracing({
    endpoint,
    sampleRatio,
    service: 'tenantryd',
    version: buildVersion(),
    clock,
    onChange: (message) => log.warn(message),
  })
}

/** Four times the event streams a daemon is measured with. Beyond it new connections are refused, so that files and databases can still be opened. */
const maxConnections = 20_000

/** A tenth of them for one network: thousands of agents or apps behind one address, and nine others are served beside a hostile one. */
const maxPerNetwork = maxConnections / 10

/** The largest file over the slowest line that is to do: 50 MB at 256 kbit/s. Who may call is asked again when a body was slow. */
const maxRequestMs = 30 * 60_000

type Listening = Pick<DaemonDeps, 'config' | 'log'>

async function listen(app: ReturnType<typeof buildApp>, { config, log }: Listening): Promise<Server> {
  const { listen: address, trustedProxies } = config
  const at = address.lastIndexOf(':')
  const server = app.listen(Number(address.slice(at + 1)), address.slice(0, at).replace(/^\[|\]$/g, ''))
  server.requestTimeout = maxRequestMs
  server.maxConnections = maxConnections
  capConnections(server, { maxPerNetwork, isShared: sharedAddresses(trustedProxies) })
  await new Promise<void>((ready, failed) => {
    server.once('listening', ready)
    server.once('error', ({ code }: NodeJS.ErrnoException) => failed(cannotListen(address, code)))
  })
  // Such as no free file handle for a new connection; those that are open continue.
  server.on('error', (err) => log.error({ err }, 'a connection was not accepted'))
  return server
}

const cannotListen = (address: string, code = 'unknown error') =>
  code === 'EACCES'
    ? problem('CONFIG_INVALID', `Cannot listen on ${address} (${code}): permission denied. fix: set TENANTRY_LISTEN to a port above 1023`)
    : problem('PORT_TAKEN', `Cannot listen on ${address} (${code}): another process may use it. fix: stop it, or set TENANTRY_LISTEN`)

/** Open connections are closed after this. */
const drainMs = 5000
const idleEveryMs = 50

/** A proxy that keeps idle connections for less than this (config/edge: 3 s) never sends a request on a connection that is being closed. */
const proxyIdleMs = 4000

/** Running requests finish; long polls and streams end by their signal. Idle connections are closed, those of a proxy once it has left them. */
const closeServer = (server: Server, { isBehindProxy }: Readonly<{ isBehindProxy: boolean }>) =>
  new Promise<void>((closed) => {
    let idle: NodeJS.Timeout | undefined
    const closeIdle = () => {
      idle = setInterval(() => server.closeIdleConnections(), idleEveryMs)
    }
    const leavingMs = isBehindProxy ? proxyIdleMs : 0
    const left = setTimeout(closeIdle, leavingMs)
    const late = setTimeout(() => server.closeAllConnections(), leavingMs + drainMs)
    server.prependListener('request', (_, response) => response.setHeader('connection', 'close'))
    const end = () => {
      clearTimeout(left)
      clearInterval(idle)
      clearTimeout(late)
      closed()
    }
    // The method of an HTTP server closes idle connections at once.
    if (isBehindProxy) NetServer.prototype.close.call(server, end)
    else server.close(end)
  })
