import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type LocalBoxes, report } from '../agent/boxes/index.ts'
import { memoryLocks, memoryShelf, onceOnly, openJournal } from '../agent/journal/index.ts'
import type { CommandExecutors, LocalBox } from '../agent/ports/index.ts'
import { type Fault, instant, type Latencies, seededRandom, simulatedHost } from '../agent/simulated/index.ts'
import { prefetch, update } from '../agent/update/index.ts'
import { type BoxMigration, Service } from '../core/boxes/index.ts'
import type { Clock } from '../core/kit/index.ts'

export type SimulatedBox = Readonly<{
  executors: Pick<CommandExecutors, 'tenant-box.report_versions' | 'tenant-box.prefetch' | 'tenant-box.update'>
  /** Nothing of it is left. */
  close(): Promise<void>
}>

type Input = Readonly<{
  clock: Clock
  seed: string
  /** An empty folder of its own; best one in memory. */
  folder: string
  slug: string
  boxId: string
  ownershipEpoch: number
  images: Readonly<Record<Service, string>>
  /** Repositories that its agent may bring. */
  allowedImages: readonly string[]
  /** Those that it has already. */
  migrations: readonly BoxMigration[]
  latencies: Latencies
  faults: readonly Fault[]
}>

const disk = { freeBytes: async () => 1e12, usedBytes: async () => 1e6, diskOf: async () => 'the only one' }

/**
 * One box that runs what its original runs, on a host of its own, with the agent's own executors for it. Making it takes no time on the
 * clock. Its chance is its own too: what happens to other boxes at the same time changes nothing here.
 */
export async function simulateBox(wanted: Input): Promise<SimulatedBox> {
  const { clock, seed, folder, slug, images, latencies, faults } = wanted
  const pace: { -readonly [What in keyof Latencies]: Latencies[What] } = { ...instant.latencies }
  const host = simulatedHost({ clock, random: seededRandom(`${seed}/${slug}`), folder, profile: { latencies: pace, faults: [] } })
  const box = await layOut(wanted)
  for (const image of Object.values(images)) await host.engine.pull(image, {})
  await host.engine.up(box.project, ['postgres', 'minio', 'synapse', 'edge'])
  await host.servers.probe(box)
  for (const migration of wanted.migrations) await host.servers.applyMigration(box, migration)
  Object.assign(pace, latencies)
  for (const fault of faults) host.inject(fault)
  const journal = await openJournal({ shelf: memoryShelf(), clock })
  const once = onceOnly({ journal, locks: memoryLocks() })
  const boxes = onlyBox(box)
  const deps = { ...host, clock, boxes, journal, once, disk, workFolder: join(folder, 'work'), allowedImages: wanted.allowedImages }
  return {
    executors: {
      'tenant-box.report_versions': report(deps),
      'tenant-box.prefetch': prefetch(deps),
      'tenant-box.update': update(deps),
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

const onlyBox = (only: LocalBox): LocalBoxes => {
  let box = only
  return {
    list: async () => [box],
    unreadable: async () => [],
    find: async (slug) => (slug === box.slug ? box : undefined),
    put: async (changed) => {
      box = changed
    },
    remove: async () => undefined,
  }
}

async function layOut({ folder, slug, boxId, ownershipEpoch, images }: Input): Promise<LocalBox> {
  const at = join(folder, 'box')
  await mkdir(join(at, 'edge', 'fence'), { recursive: true })
  const composeFile = join(at, 'compose.yaml')
  await writeFile(composeFile, composeText(images))
  return {
    ...{ slug, boxId, ownershipEpoch, managed: true, chatDomain: `${slug}.example` },
    project: { name: `box-${slug}`, folder: at, composeFile },
    ports: { public: 8001, platform: 8002, probe: 8003 },
    migrationsHead: '0000',
  }
}

const volumes: Partial<Record<Service, string>> = {
  synapse: 'volumes: [ "media:/media" ]',
  postgres: 'volumes: [ "postgres:/var/lib/postgresql/data" ]',
  minio: 'volumes: [ "objects:/data" ]',
}

const composeText = (images: Readonly<Record<Service, string>>): string => `services:
${Service.options.map((service) => `  ${service}: { image: "${images[service]}"${volumes[service] ? `, ${volumes[service]}` : ''} }`).join('\n')}
volumes: { postgres: , media: , objects: }
`
