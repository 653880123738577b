import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type FindFacts, type LocalBoxes, report } from '../agent/boxes/index.ts'
import { memoryLocks, memoryStore, onceOnly, openJournal } from '../agent/journal/index.ts'
import type { CommandExecutors, LocalBox } from '../agent/ports/index.ts'
import { type Fault, instant, type Latencies, seededRandom, simulatedHost } from '../agent/simulated/index.ts'
import { prefetch, update } from '../agent/update/index.ts'
import { type BoxMigration, Service } from '../core/boxes/index.ts'
import type { Clock } from '../core/kit/index.ts'

export type SimulatedBox = Readonly<{
  executors: Pick<CommandExecutors, 'tenant-box.report_versions' | 'tenant-box.prefetch' | 'tenant-box.update'>
  /** Deletes all files of the box. */
  close(): Promise<void>
}>

type Input = Readonly<{
  clock: Clock
  seed: string
  /** An empty folder, preferably on a RAM disk. */
  folder: string
  slug: string
  boxId: string
  ownershipEpoch: number
  images: Readonly<Record<Service, string>>
  /** Repositories that the agent may pull. */
  allowedImages: readonly string[]
  /** Migrations already applied. */
  migrations: readonly BoxMigration[]
  latencies: Latencies
  faults: readonly Fault[]
  /** It goes to another major version of PostgreSQL, which depends on facts of the box. */
  isUpgraded: boolean
}>

const disk = { freeBytes: async () => 1e12, usedBytes: async () => 1e6, diskOf: async () => 'the only one' }

/**
 * One box at the versions of its original, on its own simulated host, with the real agent executors. Creating it takes no time on the clock.
 * It has its own random stream, so that other boxes do not change its result.
 */
export async function simulateBox(input: Input): Promise<SimulatedBox> {
  const { clock, seed, folder, slug, images, latencies, faults } = input
  const pace: { -readonly [What in keyof Latencies]: Latencies[What] } = { ...instant.latencies }
  const random = seededRandom(`${seed}/${slug}`)
  const host = simulatedHost({ clock, random, folder, profile: { latencies: pace, faults: [] } })
  const box = await layOut(input)
  for (const image of Object.values(images)) await host.engine.pull(image, {})
  await host.engine.up(box.project, ['postgres', 'minio', 'synapse', 'edge'])
  await host.servers.probe(box)
  for (const migration of input.migrations) await host.servers.applyMigration(box, migration)
  Object.assign(pace, latencies)
  for (const fault of faults) host.inject(fault)
  const journal = await openJournal({ store: memoryStore(), clock })
  const once = onceOnly({ journal, locks: memoryLocks() })
  const boxes = onlyBox(box)
  const deps = { ...host, clock, random, boxes, journal, once, disk, workFolder: join(folder, 'work'), allowedImages: input.allowedImages }
  return {
    executors: {
      'tenant-box.report_versions': report(input.isUpgraded ? { ...deps, findFacts } : deps),
      'tenant-box.prefetch': prefetch(deps),
      'tenant-box.update': update(deps),
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Other facts were checked by the plan. */
const findFacts: FindFacts = async (_box, _containers, database) => ({
  ...{ schemaVersion: null, compatVersion: null, backgroundUpdates: null, collation: null, libc: null, mediaBytes: null },
  ...{ objectBytes: null, freeDiskBytes: null, otherServices: null, wouldRecreate: null, composeChanged: null },
  ...{ notRestorable: null, scaledServices: null, formerDatabases: [], hotCopy: database?.hotCopy ?? null },
})

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
  postgres: 'volumes: [ "postgres:/var/lib/postgresql/data" ], environment: { PGDATA: /var/lib/postgresql/data }',
  minio: 'volumes: [ "objects:/data" ]',
}

const composeText = (images: Readonly<Record<Service, string>>): string => `services:
${Service.options.map((service) => `  ${service}: { image: "${images[service]}"${volumes[service] ? `, ${volumes[service]}` : ''} }`).join('\n')}
volumes: { postgres: , media: , objects: }
`
