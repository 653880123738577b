import { mkdir } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { localBoxes, reportVersions } from '../../src/agent/boxes/index.ts'
import { commandStore, enrolAgent, newAgentKey, runAgent } from '../../src/agent/channel/index.ts'
import { memoryLocks, memoryStore, openJournal } from '../../src/agent/journal/index.ts'
import type { CommandContext, CommandExecutors } from '../../src/agent/ports/index.ts'
import { boxExecutors } from '../../src/agent/program/index.ts'
import { seededRandom, simulatedHost } from '../../src/agent/simulated/index.ts'
import { type Clock, secret } from '../../src/core/kit/index.ts'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { silentLogger, systemClock, systemRandom } from '../../src/node/index.ts'
import { templateFolder } from '../agent/boxes/provisioning.ts'
import { aDisk } from '../agent/simulated/disks.ts'
import { aManifest } from '../support/boxes.ts'
import { createPostgresDatabase } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { type Api, aFolder, aKey, aRunningDaemon, clientOf, loggedIn } from '../support/running-daemon.ts'

const hosts = ['amsel', 'fink', 'meise', 'zeisig']
const slugs = Array.from({ length: 12 }, (_, n) => `box-${'abcdefghijkl'[n]}`)

test('a replica that is cut off in the middle of a rollout is replaced: every command is done once, and the rollout ends', async () => {
  const clock = shiftedClock()
  const database = await createPostgresDatabase()
  const toDatabase = await aWire(Number(new URL(database).port))
  const front = await aWire(0)
  const env = {
    TENANTRY_PUBLIC_URL: front.url,
    TENANTRY_SECRET_KEY: aKey(),
    TENANTRY_BACKUP_KEY: aKey(),
    TENANTRY_SNAPSHOT_STORE: `file:${await aFolder('snapshots')}`,
    TENANTRY_AGENTS_LONG_POLL_MS: '2000',
    TENANTRY_ROLLOUTS_POLL_MS: '500',
    TENANTRY_ROLLOUTS_PER_HOST: '3',
    TENANTRY_PROBE_SPACING_MS: '50',
  }
  const wired = new URL(database)
  wired.port = new URL(toDatabase.url).port
  const first = await aRunningDaemon({ clock, env: { ...env, TENANTRY_DATABASE: wired.href } })
  front.aim(Number(new URL(first.url).port))
  const api = clientOf(front.url, await loggedIn({ ...first, config: { ...first.config, databaseUrl: database } }, 'operator'))
  const executions = new Map<string, number>()
  await withAgents(api, front.url, executions)
  await provision(api)
  await api.boxes.applyManifest({ body: { manifest: aManifest({ synapse: '1.163.2' }) } })

  const { id } = await api.rollouts.createRollout({ body: {} })
  await api.rollouts.startRollout({ params: { id } })
  const { db, close } = openDatabase(database)
  onTestFinished(close)
  const owner = async () => (await db.selectFrom('leases').select(['holder', 'token']).where('name', '=', `rollout:${id}`).execute())[0]
  await expect.poll(owner).toBeDefined()
  const before = await owner()
  const second = await aRunningDaemon({ clock, env: { ...env, TENANTRY_DATABASE: database } })
  await expect.poll(async () => (await api.rollouts.getRollout({ params: { id } })).counts.succeeded).toBeGreaterThan(0)

  // The first replica lives on, but reaches nobody: neither the database, nor an agent. Half a minute later its leases are over.
  toDatabase.cut()
  front.aim(Number(new URL(second.url).port))
  clock.shift(35_000)
  await expect.poll(async () => (await owner())?.holder).not.toBe(before?.holder)
  const third = await aRunningDaemon({ clock, env: { ...env, TENANTRY_DATABASE: database } })
  toDatabase.mend()

  await expect
    .poll(async () => (await api.rollouts.getRollout({ params: { id } })).status, { timeout: 120_000, interval: 200 })
    .toMatch(/^(done|paused|failed)$/)
  const { status, pauseReason, counts } = await api.rollouts.getRollout({ params: { id } })
  expect({ status, pauseReason, counts }).toMatchObject({ status: 'done', counts: { total: 12, succeeded: 12 } })
  const ordered = await db.selectFrom('commands').select(['id', 'status']).where('id', 'like', `${id}.%`).orderBy('id').execute()
  expect(ordered).toEqual(
    slugs.flatMap((slug) => ['observe', 'prefetch', 'update'].map((step) => ({ id: `${id}.${slug}.1.${step}`, status: 'succeeded' }))),
  )
  expect(ordered.filter((command) => executions.get(command.id) !== 1)).toEqual([])
  await Promise.all([first.close(), second.close(), third.close()])
})

/** The machine's clock, that can be set forward: what should be over by then is over. */
function shiftedClock(): Clock & { shift(ms: number): void } {
  let shiftedMs = 0
  return {
    ...systemClock,
    now: () => new Date(systemClock.now().getTime() + shiftedMs),
    shift: (ms) => {
      shiftedMs += ms
    },
  }
}

/** A TCP connection through which everything goes, and that can be cut or led elsewhere. */
async function aWire(to: number) {
  let port: number | undefined = to
  const open = new Set<Socket>()
  const cut = () => {
    port = undefined
    for (const socket of open) socket.destroy()
  }
  const server = createServer((near) => {
    if (port === undefined) return void near.destroy()
    const far = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(one)
          other.destroy()
        })
      one.pipe(other)
    }
  })
  const at = await freePort()
  await new Promise<void>((listening) => server.listen(at, '127.0.0.1', listening))
  onTestFinished(() => {
    cut()
    server.close()
  })
  const aim = (target: number) => {
    cut()
    port = target
  }
  return { url: `http://127.0.0.1:${at}`, cut, aim, mend: () => aim(to) }
}

/** Durations pass a thousand times as fast. */
const fastClock: Clock = {
  now: systemClock.now,
  monotonicMs: () => systemClock.monotonicMs() * 1000,
  sleep: (ms, signal) => systemClock.sleep(ms / 1000, signal),
}

/** Enrolled agents over hosts that do not exist; each execution of a command is counted by its id. */
async function withAgents(api: Api, daemonUrl: string, executions: Map<string, number>): Promise<void> {
  const leaving = new AbortController()
  const vaults = new Map()
  const running: Promise<void>[] = []
  for (const name of hosts) {
    const { token } = await api.hosts.inviteHost({ body: { name } })
    const identity = await enrolAgent({ daemonUrl, agentVersion: '0.0.0' }, await newAgentKey(), secret(token))
    const folder = await aFolder(name)
    const clock = fastClock
    const host = simulatedHost({ clock, random: seededRandom(name), folder, vaults })
    const boxes = localBoxes(join(folder, 'state'))
    const journal = await openJournal({ store: memoryStore(), clock })
    await mkdir(join(folder, 'boxes'), { mode: 0o700 })
    const executors = boxExecutors({
      ...{ ...host, clock, random: systemRandom, stateFolder: join(folder, 'state'), boxes, journal, locks: memoryLocks() },
      disk: aDisk(),
      portInUse: async () => false,
      settings: {
        boxesFolder: join(folder, 'boxes'),
        templateFolder,
        allowedImages: ['registry.example/*'],
        binds: { public: '127.0.0.1', platform: '127.0.0.1' },
        maxUploadMegabytes: 50,
      },
    })
    running.push(
      runAgent({
        ...{ clock: systemClock, random: systemRandom, log: silentLogger(), identity, agentVersion: '0.0.0' },
        executors: counted(executors, executions),
        store: commandStore(memoryStore()),
        acknowledge: journal.acknowledge,
        reports: async () => Promise.all((await boxes.list()).map((box) => reportVersions({ ...host, clock }, box))),
        machine: async () => ({ engine: { ...(await host.engine.info()), restic: await host.snapshots.version() }, resources: null }),
        drainMs: 0,
        signal: leaving.signal,
      }),
    )
  }
  onTestFinished(async () => {
    leaving.abort()
    await Promise.all(running)
  })
  await expect.poll(async () => (await api.hosts.listHosts()).hosts.filter(({ status }) => status === 'online').length).toBe(hosts.length)
}

type AnyExecutor = (context: CommandContext, payload: unknown) => Promise<unknown>

const counted = (executors: CommandExecutors, executions: Map<string, number>): CommandExecutors =>
  Object.fromEntries(
    Object.entries(executors).map(([kind, execute]) => [
      kind,
      (context: CommandContext, payload: unknown) => {
        executions.set(context.commandId, (executions.get(context.commandId) ?? 0) + 1)
        return (execute as AnyExecutor)(context, payload)
      },
    ]),
  ) as unknown as CommandExecutors

async function provision({ boxes }: Api): Promise<void> {
  await boxes.applyManifest({ body: { manifest: aManifest() } })
  for (const [n, slug] of slugs.entries()) {
    const host = hosts[n % hosts.length] as string
    await boxes.provisionBox({ body: { slug, name: slug, plan: 'light', host, canary: n === 0, chatDomain: `${slug}.example` } })
  }
  const ready = async () => (await boxes.listBoxes({ query: { limit: 100 } })).boxes.filter(({ status }) => status === 'ready').length
  await expect.poll(ready, { timeout: 60_000, interval: 100 }).toBe(slugs.length)
}
