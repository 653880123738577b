import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { afterEach } from 'vitest'
import { awaitCommand } from '../../../src/cli/boxes/await-command.ts'
import { type Api, connect, storedLogins } from '../../../src/cli/kit/connection.ts'
import { systemClock } from '../../../src/node/index.ts'

import { dockerEnvironment, readTestbed, type Testbed } from '../../testbed/testbed.ts'
import { type ReachableBox, reachableBox } from './conversation.ts'
import { freePorts } from './ports.ts'
import { type Environment, eventually, type Program, program, type Ran, run } from './programs.ts'

/** One daemon, one agent and the boxes they make, on this machine's engine; everything goes with `end()`. */
export type Fleet = Readonly<{
  folder: string
  /** Where the daemon listens. */
  url: string
  testbed: Testbed
  daemon: Program
  agent: Program
  /** The operator's command line; arguments as typed. */
  tenantry(...args: string[]): Promise<Ran>
  /** As `tenantry`, but a failure fails the test with what was printed. */
  must(...args: string[]): Promise<Ran>
  /** The same operator's calls without a program that starts for each: for all but the command line that a test is about. */
  api: Api
  /** The manifest with another Synapse in every tier, applied. */
  applySynapse(version: string): Promise<void>
  provision(slug: string, plan: 'light' | 'pro' | 'dedicated'): Promise<ReachableBox>
  /** A box that was provisioned. */
  findBox(slug: string): Promise<ReachableBox>
  /** Once the agent has carried it out. Throws its error. */
  commandEnds(id: string): Promise<void>
  boxFolder(slug: string): string
  end(): Promise<void>
}>

const password = 'a long password for tests'
const backupKey = Buffer.alloc(32, 7).toString('base64')

/** `more` are settings of the daemon beside those that every test needs. All programs are of `release`. */
export async function startFleet(more: Environment = {}, release?: string): Promise<Fleet> {
  const testbed = readTestbed()
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-e2e-'))
  const first = await freePorts(40)
  const url = `http://127.0.0.1:${first}`
  const daemonEnv: Environment = {
    TENANTRY_LISTEN: `127.0.0.1:${first}`,
    TENANTRY_DATA_DIR: join(folder, 'daemon'),
    TENANTRY_BACKUP_KEY: backupKey,
    TENANTRY_SNAPSHOT_STORE: `file:${join(folder, 'snapshots')}`,
    TENANTRY_PROBE_SPACING_MS: '700',
    // Longer than servers take to start beside those of another test file; a test whose box shall fail its probes shortens it.
    TENANTRY_PROBE_TIMEOUT_MS: '120000',
    TENANTRY_ROLLOUTS_POLL_MS: '500',
    TENANTRY_BOXES_FIRST_PORT: String(first + 4),
    TENANTRY_LOG: 'json',
    ...more,
  }
  const agentEnv: Environment = {
    TENANTRY_AGENT_STATE_DIR: join(folder, 'agent'),
    TENANTRY_AGENT_BOXES_DIR: join(folder, 'boxes'),
    TENANTRY_AGENT_DOCKER_HOST: testbed.dockerHost,
    TENANTRY_AGENT_DOCKER_CONFIG: testbed.dockerConfig,
    TENANTRY_AGENT_RESTIC: testbed.restic,
    TENANTRY_AGENT_IMAGES: `${testbed.registry}/tenantry/*`,
  }
  const daemon = program('tenantryd', ['serve'], daemonEnv, join(folder, 'daemon.log'))
  const agent = program('tenantry-agent', ['run'], agentEnv, join(folder, 'agent.log'))

  await writeFile(join(folder, 'password'), `${password}\n`, { mode: 0o600 })
  await createAdmin(daemonEnv, join(folder, 'password'), release)
  daemon.start(release)
  await eventually('the daemon is ready', async () => (await fetch(`${url}/readyz`)).ok)
  const operatorEnv: Environment = { TENANTRY_URL: url, XDG_CONFIG_HOME: join(folder, 'config') }
  const logins = storedLogins(operatorEnv)
  // A connection that is kept open would not outlive a daemon that a test kills.
  const headers = async () => {
    const login = await logins.at(url)
    return { connection: 'close', ...(login ? { authorization: `Bearer ${login.token}` } : {}) }
  }
  const api = await connect({ baseUrl: url, headers, clock: systemClock, notify: () => undefined })
  const { token, expiresAt } = await api.admin.login({ body: { name: 'anna', password } })
  await logins.save(url, { token, name: 'anna', expiresAt })

  const tenantry = (...args: string[]) => run('tenantry', args, operatorEnv, release)
  const must = async (...args: string[]) => ok(await tenantry(...args))
  const invited = await api.hosts.inviteHost({ body: { name: 'host-1' } })
  await writeFile(join(folder, 'invite'), invited.token, { mode: 0o600 })
  ok(await run('tenantry-agent', ['enrol', '--url', url, '--token-file', join(folder, 'invite')], agentEnv, release))
  agent.start(release)
  await eventually('the host is online', async () => {
    const { hosts } = await api.hosts.listHosts({})
    return hosts[0]?.status === 'online'
  })

  const boxFolder = (slug: string) => join(folder, 'boxes', slug)
  const findBox = async (slug: string) => {
    const { ports } = await api.boxes.showBox({ params: { slug } })
    if (!ports) throw new Error(`${slug} has no ports`)
    return reachableBox(slug, boxFolder(slug), ports)
  }
  const commandEnds = async (id: string) => {
    await awaitCommand({ api, clock: systemClock, signal: AbortSignal.timeout(300_000) }, id, () => undefined)
  }
  const applySynapse = async (version: string) => {
    await api.boxes.applyManifest({ body: { manifest: manifestOf(testbed, version) } })
  }
  const provision: Fleet['provision'] = async (slug, plan) => {
    const tenant = { slug, name: `School ${slug}`, plan, chatDomain: `${slug}.example`, host: 'host-1' }
    const { commandId } = await api.boxes.provisionBox({ body: tenant })
    await commandEnds(commandId)
    return findBox(slug)
  }
  const end = async () => {
    await agent.kill('SIGKILL')
    await daemon.kill('SIGKILL')
    await removeBoxes(testbed, folder)
    await rm(folder, { recursive: true, force: true })
  }
  return { folder, url, testbed, daemon, agent, tenantry, must, api, applySynapse, provision, findBox, commandEnds, boxFolder, end }
}

/** As the first fleet of this worker made it: migrations and the hash of a password take a second of a processor. */
let databaseWithAdmin: Buffer | undefined

async function createAdmin(env: Environment, passwordFile: string, release: string | undefined): Promise<void> {
  const isUsual = release === undefined && env.TENANTRY_DATABASE === undefined
  const file = join(env.TENANTRY_DATA_DIR as string, 'tenantry.db')
  if (isUsual && databaseWithAdmin) {
    await mkdir(dirname(file), { mode: 0o700 })
    await writeFile(file, databaseWithAdmin, { mode: 0o600 })
    return
  }
  const admin = ['admin', 'create', '--name', 'anna', '--role', 'admin', '--password-file', passwordFile]
  ok(await run('tenantryd', admin, env, release))
  if (isUsual) databaseWithAdmin = await readFile(file)
}

function ok(ran: Ran): Ran {
  if (ran.exitCode !== 0) throw new Error(`exit ${ran.exitCode}\n${ran.stdout}\n${ran.stderr}`)
  return ran
}

export function manifestOf({ images, registry }: Testbed, synapse: string) {
  const versions = { migrationsHead: '0000', postgres: images.postgres.tag, synapse, minio: images.minio.tag }
  const at = (name: string, tag: string) => `${registry}/tenantry/${name}:${tag}`
  return {
    images: {
      edge: images.edge.ref,
      synapse: at('synapse', 'v{version}'),
      postgres: at('postgres', '{version}'),
      minio: at('minio', '{version}'),
    },
    tiers: { free: versions, pro: versions, enterprise: versions },
  }
}

/** Removes containers, networks and volumes of every project whose folder lies below the fleet's. */
async function removeBoxes(testbed: Testbed, folder: string): Promise<void> {
  const docker = (...args: string[]) => execa(testbed.docker, args, { env: dockerEnvironment(testbed), extendEnv: false, reject: false })
  const { stdout } = await docker(
    'ps',
    '-a',
    '--format',
    '{{.ID}} {{.Label "com.docker.compose.project.working_dir"}} {{.Label "com.docker.compose.project"}}',
  )
  const ours = stdout
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, where]) => where?.startsWith(folder))
  if (ours.length > 0) await docker('rm', '-f', '-v', ...ours.map(([id]) => id as string))
  for (const project of new Set(ours.map(([, , name]) => name as string))) {
    for (const [kind, list] of [
      ['network', 'ls'],
      ['volume', 'ls'],
    ] as const) {
      const found = await docker(kind, list, '-q', '--filter', `label=com.docker.compose.project=${project}`)
      const ids = found.stdout.split('\n').filter(Boolean)
      if (ids.length > 0) await docker(kind, 'rm', ...ids)
    }
  }
}

/** Shows what daemon and agent said last when a test of this file fails. */
export function logOnFailure(fleet: () => Fleet): void {
  afterEach(({ task }) => {
    if (task.result?.state !== 'fail') return
    const { daemon, agent } = fleet()
    console.error(`daemon:\n${daemon.output().slice(-6000)}\nagent:\n${agent.output().slice(-6000)}`)
  })
}

/** The compose file of a box, byte for byte. */
export const composeFile = (fleet: Fleet, slug: string) => readFile(join(fleet.boxFolder(slug), 'compose.yaml'), 'utf8')
