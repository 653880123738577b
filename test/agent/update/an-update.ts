import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fenceFile, localBoxes } from '../../../src/agent/boxes/index.ts'
import { type FileStore, memoryLocks, memoryStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import type { BoxServers, CommandContext, ContainerEngine, LocalBox, SnapshotStore } from '../../../src/agent/ports/index.ts'
import { type Fault, type FaultProfile, type ImageOverrides, seededRandom, simulatedImage } from '../../../src/agent/simulated/index.ts'
import { type UpdateDeps, type UpdateSteps, update, updateSteps } from '../../../src/agent/update/index.ts'
import type { BoxCommandPayload, CommandSecrets, UpdateResult } from '../../../src/core/boxes/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { readIfThere } from '../../../src/node/index.ts'
import { aHost, aRunningBox, moving } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'

export const newSynapse = 'registry.test/tenantry/synapse:v1.163.2'
export const newMinio = 'registry.test/tenantry/minio:RELEASE.2026-02-12T20-18-48Z'
export const newPostgres = 'registry.test/tenantry/postgres:15.15'
const commandId = 'ro_1.box_oak.1.update'

type Payload = BoxCommandPayload<'tenant-box.update'>
export type Ports = Readonly<{ engine: ContainerEngine; servers: BoxServers; snapshots: SnapshotStore }>

export const aPayload = (change: Partial<Payload> = {}): Payload => ({
  slug: 'oak',
  boxId: 'box_oak',
  ownershipEpoch: 1,
  targets: { services: { synapse: { image: newSynapse, digest: simulatedImage(newSynapse).digest } }, migrationsHead: '0000' },
  probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 30 * 60_000 },
  fence: { mode: 'until-stable' },
  // Far away: the tests let time pass freely while files are written.
  deadlineMs: 30 * 86_400_000,
  ...change,
})

export type Counts = Record<string, number>

/** Counts the real changes of the host. */
function counted(ports: Ports): { ports: Ports; counts: Counts } {
  const counts: Counts = {}
  const around = (name: string, act: () => Promise<unknown>) => {
    counts[name] = (counts[name] ?? 0) + 1
    return act()
  }
  return { counts, ports: wrapped(ports, around) }
}

/** Puts something around every call of the ports. */
export function wrapped(ports: Ports, around: (name: string, act: () => Promise<unknown>) => Promise<unknown>): Ports {
  const wrap = <Port extends object>(port: Port): Port =>
    Object.fromEntries(
      Object.entries(port).map(([name, method]) => {
        // A stream is no call that ends.
        if (name === 'events') return [name, method]
        if (typeof method === 'object') return [name, wrap(method)]
        return [name, (...args: unknown[]) => around(name, async () => (method as (...args: unknown[]) => unknown)(...args))]
      }),
    ) as Port
  return { engine: wrap(ports.engine), servers: wrap(ports.servers), snapshots: wrap(ports.snapshots) }
}

type Options = {
  profile?: FaultProfile
  images?: ImageOverrides
  change?: (deps: UpdateDeps) => Partial<UpdateDeps>
  box?: Partial<LocalBox>
}

/** A simulated host with one running box that has three messages and a picture, and an agent that can be started again and again. */
export async function aWorld({ profile, images = {}, change = () => ({}), box: boxChange = {} }: Options = {}) {
  const host = await aHost({ images, ...(profile ? { profile } : {}) })
  const box = { ...(await aRunningBox(host)), ...boxChange }
  for (let message = 0; message < 3; message++) host.traffic.sendMessage(box)
  host.traffic.uploadMedia(box)
  const boxes = localBoxes(host.folder)
  await boxes.put(box)
  const fileStore = memoryStore()
  const { ports, counts } = counted(host)
  const compose = () => readFile(box.project.composeFile, 'utf8')

  /** A fresh agent: all its state is in the file store and on the host. */
  const agent = async (around: (ports: Ports) => Ports = (same) => same, files: FileStore = fileStore) => {
    const journal = await openJournal({ store: files, clock: host.clock })
    const deps: UpdateDeps = {
      ...around(ports),
      boxes,
      journal,
      once: onceOnly({ journal, locks: memoryLocks() }),
      clock: host.clock,
      disk: aDisk(),
      random: seededRandom('an agent'),
      workFolder: join(host.folder, 'work'),
      allowedImages: ['registry.test/tenantry/*'],
      rollbackStepTimeoutMs: 365 * 86_400_000,
    }
    return { ...deps, ...change(deps) }
  }
  const run = async (payload = aPayload(), { deps, steps = updateSteps, context = aContext() }: Run = {}): Promise<UpdateResult> => {
    const agentDeps = deps ?? (await agent())
    return moving(host.clock, () => update(agentDeps, steps)(context, payload), 5_000)
  }
  return {
    host,
    box,
    boxes,
    fileStore,
    counts,
    agent,
    run,
    compose,
    edit: async (change: (text: string) => string) => writeFile(box.project.composeFile, change(await compose())),
    fence: () => readIfThere(fenceFile(box.project)),
    inject: (fault: Fault) => host.inject(fault),
    image: async (service: string) => (await host.engine.containers(box.project)).find((container) => container.service === service)?.image,
  }
}

type Run = { deps?: UpdateDeps; steps?: UpdateSteps; context?: CommandContext }

const secrets: CommandSecrets = { snapshots: { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true } }

export const aContext = (change: Partial<CommandContext> = {}): CommandContext => ({
  commandId,
  signal: new AbortController().signal,
  progress: () => undefined,
  secrets: async () => secrets,
  migrations: async () => [],
  deliver: async () => undefined,
  sendLines: async () => 'ended',
  ...change,
})

export const withoutDaemon = async (): Promise<never> => {
  throw problem('UNREACHABLE', 'the daemon does not answer')
}

/** Fails the call that creates the volume of a cold copy, so that the rollback loads the dump. */
export const withoutColdCopy = (ports: Ports): Ports => ({
  ...ports,
  engine: {
    ...ports.engine,
    createVolume: async () => {
      throw problem('DOCKER_UNAVAILABLE', 'the engine makes no volume')
    },
  },
})
