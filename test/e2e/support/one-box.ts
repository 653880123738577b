import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostDisk } from '../../../src/agent/backup/index.ts'
import { boxServers } from '../../../src/agent/box-servers/index.ts'
import {
  composeRecord,
  factFinder,
  fenceFile,
  type LocalBoxes,
  localBoxes,
  portInUse,
  provision,
  type ReportDeps,
  reportVersions,
} from '../../../src/agent/boxes/index.ts'
import { dockerEngine } from '../../../src/agent/docker/index.ts'
import { fileLocks, folderStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import type { CommandContext, LocalBox } from '../../../src/agent/ports/index.ts'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import type { UpdateDeps } from '../../../src/agent/update/index.ts'
import type { BoxCommandPayload, BoxMigration, VersionsReport } from '../../../src/core/boxes/index.ts'
import { readIfThere, systemClock, systemRandom } from '../../../src/node/index.ts'
import { aContext, aProvision, templateFolder } from '../../agent/boxes/provisioning.ts'
import { readTestbed, type Testbed, type TestbedImageKey } from '../../testbed/testbed.ts'
import { type Conversation, converse, reachableBox } from './conversation.ts'
import { boxPorts } from './ports.ts'

type Wanted = Readonly<{
  slug: string
  synapse?: TestbedImageKey
  minio?: TestbedImageKey
  migrationsHead?: string
  migrations?: readonly BoxMigration[]
}>

/** One real box and the agent's own executors over it, without a daemon: real engine, real servers, real restic. */
export type OneBox = Readonly<{
  testbed: Testbed
  slug: string
  ports: ReturnType<typeof boxPorts>
  deps: UpdateDeps & ReportDeps
  box(): Promise<LocalBox>
  report(): Promise<VersionsReport>
  context(commandId: string, change?: Partial<CommandContext>): CommandContext
  payload(targets: BoxCommandPayload<'tenant-box.update'>['targets']): BoxCommandPayload<'tenant-box.update'>
  target(key: TestbedImageKey): { image: string; digest: string }
  fence(): Promise<string | undefined>
  talk: Conversation
  end(): Promise<void>
}>

export async function oneBox({
  slug,
  synapse = 'synapse-1.157.1',
  minio = 'minio',
  migrationsHead,
  migrations = [],
}: Wanted): Promise<OneBox> {
  const testbed = readTestbed()
  const { images, dockerHost, dockerConfig, docker, registry, restic } = testbed
  const folder = await realpath(await mkdtemp(join(tmpdir(), `tenantry-${slug}-`)))
  const engine = dockerEngine({ dockerHost, dockerConfig, docker })
  const boxes: LocalBoxes = localBoxes(join(folder, 'state'))
  const allowedImages = [`${registry}/tenantry/*`]
  const compose = composeRecord({ stateFolder: join(folder, 'state'), boxes })
  const look = {
    engine,
    servers: boxServers({ engine, clock: systemClock, random: systemRandom }),
    boxes,
    clock: systemClock,
    findFacts: factFinder({ engine, clock: systemClock, disk: hostDisk, compose }),
  }
  const box = async () => {
    const found = await boxes.find(slug)
    if (!found) throw new Error(`${slug} was not made`)
    return found
  }
  const context = (commandId: string, change: Partial<CommandContext> = {}): CommandContext => ({
    ...aContext().context,
    commandId,
    secrets: async () => ({ snapshots: { repository: `file:${join(folder, 'repository')}`, password: 'a key', env: {}, mayCreate: true } }),
    migrations: async () => migrations,
    ...change,
  })
  const end = async () => {
    const made = await boxes.find(slug)
    if (made) {
      await engine.down(made.project, { volumes: true })
      await engine.removeProject(made.project.name)
    }
    await rm(folder, { recursive: true, force: true })
  }
  const ports = boxPorts()
  const order = aProvision({
    slug,
    boxId: `box_${slug}`,
    chatDomain: `${slug}.test`,
    publicUrl: `http://127.0.0.1:${ports.public}`,
    images: { edge: images.edge.ref, synapse: images[synapse].ref, postgres: images.postgres.ref, minio: images[minio].ref },
    ports,
    probe: { consecutive: 2, spacingMs: 200, timeoutMs: 60_000 },
    ...(migrationsHead === undefined ? {} : { migrationsHead }),
  })
  const settings = {
    boxesFolder: join(folder, 'boxes'),
    templateFolder,
    allowedImages,
    binds: { public: '127.0.0.1', platform: '127.0.0.1' },
    maxUploadMegabytes: 50,
  }
  const making = provision({ ...look, portInUse, random: systemRandom, settings })
  const commandId = `${slug}.provision`
  await compose
    .around(slug, commandId, () => making(context(commandId), order))
    .catch(async (error) => {
      await end()
      throw error
    })
  const journal = await openJournal({ store: folderStore(join(folder, 'journal')), clock: systemClock })
  return {
    testbed,
    slug,
    ports,
    deps: {
      ...look,
      journal,
      once: onceOnly({ journal, locks: fileLocks(join(folder, 'locks')) }),
      snapshots: resticSnapshots({ program: restic, owner: folder, cacheFolder: join(folder, 'cache') }),
      disk: hostDisk,
      random: systemRandom,
      workFolder: join(folder, 'work'),
      allowedImages,
    },
    box,
    report: async () => reportVersions(look, await box()),
    context,
    payload: (targets) => ({
      slug,
      boxId: `box_${slug}`,
      ownershipEpoch: 1,
      targets,
      probe: { consecutive: 2, spacingMs: 300, timeoutMs: 60_000 },
      fence: { mode: 'until-stable' },
      deadlineMs: 600_000,
    }),
    target: (key) => ({ image: images[key].ref, digest: images[key].digest }),
    fence: async () => readIfThere(fenceFile((await box()).project)),
    talk: await converse(reachableBox(slug, join(folder, 'boxes', slug), ports), 5),
    end,
  }
}
