import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { api } from '../core/api.ts'
import { type Client, makeClient } from '../core/contract/index.ts'
import { problem } from '../core/kit/index.ts'
import { createAccountWithPassword } from '../daemon/admin/index.ts'
import { loadConfig } from '../daemon/config/index.ts'
import { type Daemon, startDaemon } from '../daemon/daemon.ts'
import { migrate, openDatabase } from '../daemon/db/index.ts'
import { rehearseInWorker } from '../daemon/rehearse-in-worker.ts'
import { settlingFetch, silentLogger, systemClock, systemRandom } from '../node/index.ts'
import { fleet, hosts, manifestWith, unlucky } from './fleet.ts'
import { runSimulatedAgent } from './simulated-agent.ts'

type DemoApi = { readonly [Feature in keyof typeof api]: Client<(typeof api)[Feature]> }

/** A running daemon with an admin session; `token` is for the operator's CLI. */
export type Stage = Readonly<{
  url: string
  token: string
  api: DemoApi
  folder: string
  close(): Promise<void>
  removeFiles(): Promise<void>
}>

const defaultPort = 8440

/** Starts a daemon with default settings in an empty folder of its own, and creates an admin. */
export async function openStage(wantedPort: number | undefined): Promise<Stage> {
  const port = wantedPort ?? (await freePort(defaultPort))
  if (wantedPort !== undefined && (await freePort(wantedPort)) !== wantedPort)
    throw problem('USAGE', `Port ${wantedPort} is in use. fix: choose another one, or leave out --port`)
  const folder = resolve('.tenantry/demo', String(port))
  const removeFiles = () => rm(folder, { recursive: true, force: true })
  await removeFiles()
  const key = () => randomBytes(32).toString('base64')
  const env = {
    TENANTRY_LISTEN: `127.0.0.1:${port}`,
    TENANTRY_DATA_DIR: join(folder, 'daemon'),
    TENANTRY_BACKUP_KEY: key(),
    // The simulated boxes update in seconds; with these, plans and probes are in the same clock.
    TENANTRY_PROBE_SPACING_MS: '1000',
    TENANTRY_PROBE_TIMEOUT_MS: '8000',
    TENANTRY_ROLLOUTS_ASSUMED_UPDATE_MS: '1000',
    TENANTRY_SNAPSHOT_STORE: `file:${join(folder, 'snapshots')}`,
  }
  const config = loadConfig({ env })
  const rehearse = rehearseInWorker(config.databaseUrl)
  const machine = { config, clock: systemClock, random: systemRandom, log: silentLogger(), rehearse }
  const daemon: Daemon = await startDaemon(machine)
  const password = key()
  await createFirstAdmin(config.databaseUrl, password)
  const session = await connect(daemon.url).admin.login({ body: { name: 'demo', password } })
  const api = connect(daemon.url, session.token)
  const { token } = await api.admin.createToken({ body: { name: 'demo', role: 'operator', days: 1 } })
  return { url: daemon.url, token, api, folder, close: daemon.close, removeFiles }
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

/** Enrols the hosts; their agents run until the signal aborts. */
export async function enrolHosts({ api: { hosts: hostApi }, url, folder: at }: Stage, signal: AbortSignal): Promise<Promise<void>[]> {
  const vaults = new Map()
  const faults = [{ kind: 'probe-fails', box: unlucky, image: 'v1.163.2', components: ['chatSync'] } as const]
  const agents: Promise<void>[] = []
  for (const name of hosts) {
    const { token } = await hostApi.inviteHost({ body: { name } })
    const agent = runSimulatedAgent({ name, daemonUrl: url, token, folder: join(at, name), faults, vaults, signal })
    // Errors after an abort are expected: it interrupts calls.
    agents.push(agent.catch((error: unknown) => (signal.aborted ? undefined : Promise.reject(error))))
  }
  await until(async () => (await hostApi.listHosts()).hosts.filter(({ status }) => status === 'online').length === hosts.length, signal)
  return agents
}

export const applyVersion = ({ api: { boxes } }: Stage, synapse: string) =>
  boxes.applyManifest({ body: { manifest: manifestWith(synapse) } })

/** Provisions all boxes and reports how many are ready. Throws when the signal aborts. */
export async function provisionFleet(
  { api: { boxes } }: Pick<Stage, 'api'>,
  onReady: (count: number) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const { slug, name, plan, host, canary } of fleet) {
    await boxes.provisionBox({ body: { slug, name, plan, host, canary, chatDomain: `${slug}.example` } })
  }
  await until(async () => {
    const { boxes: all } = await boxes.listBoxes({ query: { limit: 100 } })
    const failed = all.find(({ status }) => status === 'failed')
    if (failed) throw new Error(`${failed.slug} was not provisioned; check it: tenantry boxes show ${failed.slug}`)
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
const freePort = (preferred: number) =>
  new Promise<number>((found) => {
    const server = createServer().once('error', () => found(freePort(0)))
    server.listen(preferred, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => found(port))
    })
  })
