import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { api } from '../core/api.ts'
import { type Client, makeClient } from '../core/contract/index.ts'
import { problem } from '../core/kit/index.ts'
import { createAccountWithPassword, makeLoginLinks } from '../daemon/admin/index.ts'
import { loadConfig } from '../daemon/config/index.ts'
import { type Daemon, startDaemon } from '../daemon/daemon.ts'
import { migrate, openDatabase } from '../daemon/db/index.ts'
import { rehearseInWorker } from '../daemon/rehearse-in-worker.ts'
import { settlingFetch, silentLogger, systemClock, systemRandom, type Tracing } from '../node/index.ts'
import { after, type Fleet } from './fleet.ts'
import { runSimulatedAgent } from './simulated-agent.ts'

type DemoApi = { readonly [Feature in keyof typeof api]: Client<(typeof api)[Feature]> }

/** A running daemon with an admin session; `token` is for the operator's CLI. */
export type Stage = Readonly<{
  url: string
  token: string
  api: DemoApi
  folder: string
  /** An address that logs a browser on this machine in, once. */
  consoleLink(): string
  /** The password of the account `demo`. */
  password: string
  close(): Promise<void>
  removeFiles(): Promise<void>
}>

const defaultPort = 8440

/** The port of the daemon: the wanted one, or 8440, or a free one where that is in use. Throws USAGE. */
export async function choosePort(requested: number | undefined): Promise<number> {
  const port = await freePort(requested ?? defaultPort)
  if (requested !== undefined && port !== requested)
    throw problem('USAGE', `Port ${requested} is in use. fix: choose another one, or leave out --port`)
  return port
}

/** Starts a daemon with default settings in an empty folder of its own, and creates an admin. `rehearsal`: the compiled worker, where this is not compiled. */
export async function openStage(port: number, more: Fleet['env'], rehearsal?: URL): Promise<Stage> {
  const folder = resolve('.tenantry/demo', String(port))
  const removeFiles = () => rm(folder, { recursive: true, force: true })
  await removeFiles()
  const key = () => randomBytes(32).toString('base64')
  const env = {
    TENANTRY_LISTEN: `127.0.0.1:${port}`,
    TENANTRY_DATA_DIR: join(folder, 'daemon'),
    TENANTRY_BACKUP_KEY: key(),
    TENANTRY_SNAPSHOT_STORE: `file:${join(folder, 'snapshots')}`,
    ...more,
  }
  const config = loadConfig({ env })
  const rehearse = rehearseInWorker(config.databaseUrl, rehearsal)
  const loginLinks = makeLoginLinks({ clock: systemClock, random: systemRandom })
  const machine = { config, loginLinks, clock: systemClock, random: systemRandom, log: silentLogger(), rehearse }
  const daemon: Daemon = await startDaemon(machine)
  const password = randomBytes(12).toString('base64url')
  await createFirstAdmin(config.databaseUrl, password)
  const session = await connect(daemon.url).admin.login({ body: { name: 'demo', password } })
  const api = connect(daemon.url, session.token)
  const { token } = await api.admin.createToken({ body: { name: 'demo', role: 'operator', days: 1 } })
  const consoleLink = () => `${daemon.url}/console/login#token=${loginLinks.make('demo')}`
  return { url: daemon.url, token, api, folder, consoleLink, password, close: daemon.close, removeFiles }
}

const connect = (baseUrl: string, token?: string): DemoApi => {
  const headers = () => (token ? { authorization: `Bearer ${token}` } : ({} as Record<string, string>))
  return Object.fromEntries(
    Object.entries(api).map(([feature, contract]) => [feature, makeClient(contract, { baseUrl, headers, fetch: settlingFetch })]),
  ) as DemoApi
}

/** Creates the admin in the database, as `tenantryd admin create` does. */
async function createFirstAdmin(databaseUrl: string, password: string): Promise<void> {
  const { db, close } = openDatabase(databaseUrl)
  await migrate(db)
  await createAccountWithPassword(
    { db, clock: systemClock, random: systemRandom },
    { kind: 'system', name: 'demo' },
    { name: 'demo', role: 'admin', password },
  )
  await close()
}

/** Runs the agent of one host until the signal aborts. */
export type StartAgent = (
  agent: Readonly<{ name: string; daemonUrl: string; token: string; folder: string; signal: AbortSignal }>,
) => Promise<void>

/** The fleet of a demo, its agents, and the removal of what they leave outside the demo's folder. */
export type DemoSetup = Readonly<{ fleet: Fleet; startAgent: StartAgent; removeBoxes(): Promise<void> }>

/** Agents of simulated hosts, which share the snapshots. */
export function simulatedAgents({ unlucky }: Fleet, tracing?: Tracing): StartAgent {
  const vaults = new Map()
  const faults = [{ kind: 'probe-fails', box: unlucky, image: `v${after}`, components: ['chatSync'] } as const]
  return (agent) => runSimulatedAgent({ ...agent, faults, vaults, tracing })
}

type Hosts = Readonly<{ names: readonly string[]; startAgent: StartAgent }>

/** Enrols the hosts; their agents run until the signal aborts. */
export async function enrolHosts(
  { api, url: daemonUrl, folder }: Pick<Stage, 'api' | 'url' | 'folder'>,
  { names, startAgent }: Hosts,
  signal: AbortSignal,
): Promise<void> {
  const agents: Promise<void>[] = []
  for (const name of names) {
    const { token } = await api.hosts.inviteHost({ body: { name } })
    const agent = startAgent({ name, daemonUrl, token, folder: join(folder, name), signal })
    // Errors after an abort are expected: it interrupts calls.
    agents.push(agent.catch((error: unknown) => (signal.aborted ? undefined : Promise.reject(error))))
  }
  const online = async () => (await api.hosts.listHosts()).hosts.filter(({ status }) => status === 'online').length === names.length
  await Promise.race([until(online, signal), endOfAny(agents)])
}

/** Throws what an agent throws; never returns. */
const endOfAny = (agents: readonly Promise<void>[]) =>
  new Promise<never>((_, fail) => {
    for (const agent of agents) agent.catch(fail)
  })

/** Provisions all boxes and reports how many are ready. Throws when the signal aborts. */
export async function provisionFleet(
  { api: { boxes } }: Pick<Stage, 'api'>,
  { boxes: fleet, onReady }: Readonly<{ boxes: Fleet['boxes']; onReady(count: number): void }>,
  signal: AbortSignal,
): Promise<void> {
  for (const { slug, name, plan, host, canary } of fleet) {
    await boxes.provisionBox({ body: { slug, name, plan, host, canary, chatDomain: `${slug}.example` } })
  }
  await until(async () => {
    const { boxes: all } = await boxes.listBoxes({ query: { limit: 100 } })
    const failed = all.find(({ status }) => status === 'failed')
    if (failed) {
      const { setUp } = await boxes.showBox({ params: { slug: failed.slug } })
      throw problem('UPDATE_FAILED', `${failed.slug} was not provisioned: ${setUp.error?.message ?? 'no result'}`)
    }
    const ready = all.filter(({ status }) => status === 'ready').length
    onReady(ready)
    return ready === fleet.length
  }, signal)
}

async function until(condition: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!(await condition())) {
    await systemClock.sleep(150, signal)
    signal.throwIfAborted()
  }
}

/** The preferred port, or a free one if it is in use. */
export const freePort = (preferred: number) =>
  new Promise<number>((found) => {
    const server = createServer().once('error', () => found(freePort(0)))
    server.listen(preferred, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => found(port))
    })
  })
