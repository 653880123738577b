import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { localBoxes, reportVersions } from '../../../src/agent/boxes/index.ts'
import { type AgentIdentity, commandStore, runAgent } from '../../../src/agent/channel/index.ts'
import { memoryLocks, memoryStore, openJournal } from '../../../src/agent/journal/index.ts'
import { boxExecutors } from '../../../src/agent/program/index.ts'
import { type SimulatedHost, seededRandom, simulatedHost } from '../../../src/agent/simulated/index.ts'
import { type BoxCommandResult, UpdateResult } from '../../../src/core/boxes/index.ts'
import { commandById } from '../../../src/daemon/hosts/index.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { type HostWorld, hostWorld } from '../../support/host-world.ts'
import { aProvision, templateFolder } from '../boxes/provisioning.ts'
import { aDisk } from '../simulated/disks.ts'

let folder: string
let world: HostWorld
let host: SimulatedHost
let identity: AgentIdentity
let stops: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'tenantry-agent-')))
  const { db } = await emptyDatabase('sqlite')
  world = await hostWorld(db)
  host = simulatedHost({ clock: world.clock, random: seededRandom('a host'), folder })
  identity = await world.enrol('host-1')
  world.told.secrets = { snapshots: { repository: 'vault', password: 'p', env: {}, mayCreate: true } }
  stops = [() => world.stop(), () => db.destroy(), () => rm(folder, { recursive: true, force: true })]
})
afterEach(async () => {
  for (const stop of stops) await stop()
})

const boxes = () => localBoxes(join(folder, 'state'))
const stores = { commands: memoryStore(), journal: memoryStore() }

/** The whole agent over the simulated host; what it keeps outlives it. */
async function anAgent() {
  const leaving = new AbortController()
  const { clock } = world
  const journal = await openJournal({ store: stores.journal, clock })
  const executors = boxExecutors({
    ...host,
    clock,
    random: systemRandom,
    stateFolder: join(folder, 'state'),
    boxes: boxes(),
    journal,
    locks: memoryLocks(),
    disk: aDisk(),
    portInUse: async () => false,
    settings: {
      boxesFolder: join(folder, 'boxes'),
      templateFolder,
      allowedImages: ['registry.test/tenantry/*'],
      allowedMirrors: ['registry.test=near.test:5000'],
      binds: { public: '127.0.0.1', platform: '127.0.0.1' },
      maxUploadMegabytes: 50,
    },
  })
  const over = runAgent({
    clock,
    random: systemRandom,
    log: silentLogger(),
    identity,
    agentVersion: '0.1.0',
    executors,
    store: commandStore(stores.commands),
    acknowledge: journal.acknowledge,
    reports: async () => Promise.all((await boxes().list()).map((box) => reportVersions({ ...host, clock }, box))),
    machine: async () => ({ engine: { ...(await host.engine.info()), restic: await host.snapshots.version() }, resources: null }),
    drainMs: 0,
    signal: leaving.signal,
  })
  const leave = async () => {
    let left = false
    leaving.abort()
    void over.then(() => {
      left = true
    })
    await until(() => left)
  }
  stops.unshift(leave)
  return { leave }
}

async function until(condition: () => unknown): Promise<void> {
  for (let turn = 0; turn < 100_000; turn++) {
    if (await condition()) return
    for (let sockets = 0; sockets < 10; sockets++) await new Promise((resolve) => setImmediate(resolve))
    await world.clock.advance(500)
  }
  throw new Error('it never came to that')
}

async function ask<Kind extends 'tenant-box.provision' | 'tenant-box.resolve_images' | 'tenant-box.prefetch' | 'tenant-box.update'>(
  id: string,
  kind: Kind,
  payload: unknown,
) {
  await world.enqueue({ id, hostId: identity.hostId, boxId: 'box_oak', kind, payload, deadlineMs: 86_400_000 } as never)
  const result = async () => {
    await until(async () => ['succeeded', 'failed'].includes((await commandById(world.deps.db, id)).status))
    const { status, result, error } = await commandById(world.deps.db, id)
    expect({ status, error }).toEqual({ status: 'succeeded', error: null })
    return result as BoxCommandResult<Kind>
  }
  return { result }
}

const newer = 'registry.test/tenantry/synapse:v1.163.2'
const probe = { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 }
const named = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1 }

test('a box is provisioned and updated over the channel; an agent that is killed during the update resumes it', async () => {
  const first = await anAgent()
  const { report } = await (await ask('provision', 'tenant-box.provision', aProvision())).result()
  expect(report.installed.synapse).toBe('1.157.1')
  expect(world.told.outputs).toHaveLength(1)

  const near = 'near.test:5000/tenantry/synapse:v1.163.2'
  const gone = host.inject({ kind: 'registry-down', image: near })
  world.told.secrets = { ...world.told.secrets, registries: { 'registry.test': { mirror: 'near.test:5000' } } }
  const question = { ...named, images: [newer, 'elsewhere.test/synapse:v1.163.2'], withinMs: 60_000 }
  const { images } = await (await ask('resolve', 'tenant-box.resolve_images', question)).result()
  expect(images).toMatchObject([{ error: null }, { digest: null, error: { code: 'IMAGE_NOT_ALLOWED' } }])
  gone()

  const targets = { services: { synapse: { image: newer } }, migrationsHead: '0000' }
  const { digests } = await (await ask('prefetch', 'tenant-box.prefetch', { ...named, targets })).result()

  expect(digests[newer]).toBe(images[0]?.digest)
  const pinned = { ...targets, services: { synapse: { image: newer, digest: digests[newer] } } }
  const update = await ask('update', 'tenant-box.update', {
    ...named,
    targets: pinned,
    probe,
    fence: { mode: 'until-stable' },
    deadlineMs: 7_200_000,
  })
  const step = async () => (await commandById(world.deps.db, 'update')).progress.at(-1)?.step
  await until(async () => (await step()) === 'probe')
  await first.leave()
  expect((await commandById(world.deps.db, 'update')).status).toBe('running')

  await anAgent()
  const result = UpdateResult.parse(await update.result())
  expect(result).toMatchObject({ outcome: 'committed', snapshotOk: true, updateOk: true, healthOk: true })
  expect(result.report?.installed.synapse).toBe('1.163.2')
  expect((await commandById(world.deps.db, 'update')).leaseToken).toBe(1)
})
