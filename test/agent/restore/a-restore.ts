import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { clearDump, takeBoxSnapshot } from '../../../src/agent/backup/index.ts'
import { newBoxSecrets, secretsText } from '../../../src/agent/boxes/index.ts'
import type { FileStore } from '../../../src/agent/journal/index.ts'
import type { CommandContext } from '../../../src/agent/ports/index.ts'
import { type RestoreDeps, type RestoreSteps, restore, restoreStepsOfBox } from '../../../src/agent/restore/index.ts'
import { seededRandom } from '../../../src/agent/simulated/index.ts'
import type { BoxCommandPayload, RestoreResult } from '../../../src/core/boxes/index.ts'
import { templateFolder } from '../boxes/provisioning.ts'
import { moving } from '../simulated/boxes.ts'
import { aContext, aWorld, type Ports } from '../update/an-update.ts'

type Payload = BoxCommandPayload<'tenant-box.restore'>
type Options = NonNullable<Parameters<typeof aWorld>[0]>

const repository = { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true }
const installed = { migrationsHead: '0000', postgres: '15.14', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const restoreId = 're_1.box_oak.1.restore'

/**
 * A box with three messages and a picture in a snapshot, which lived on: two more messages and one more picture, other config, another rule
 * of the edge, another release of the chat server in its file if wanted. And an agent that can be started again and again.
 */
export async function aLivedOnBox(options: Options = {}) {
  const world = await aWorld(options)
  const { host, box } = world
  const config = join(box.project.folder, 'synapse', 'homeserver.yaml')
  await mkdir(join(box.project.folder, 'synapse'))
  await writeFile(config, 'as in the snapshot\n')
  const rules = join(box.project.folder, 'edge', 'conf.d')
  await mkdir(rules)
  for (const name of ['box.conf', 'in-the-snapshot.conf']) await writeFile(join(rules, name), 'server {}\n')
  const containers = await host.engine.containers(box.project)
  const running = Object.fromEntries(containers.map(({ service, image, digest }) => [service, { image, digest }]))
  const deps = { ...host, workFolder: join(host.folder, 'work') }
  await host.snapshots.prepare(repository)
  const { taken } = await takeBoxSnapshot(deps, {
    box,
    repository,
    tier: 'manual',
    commandId: 'sn_1.box_oak.snapshot',
    images: running,
    installed,
  })
  await clearDump(deps, 'sn_1.box_oak.snapshot')
  await writeFile(config, 'as it was changed later\n')
  await rename(join(rules, 'in-the-snapshot.conf'), join(rules, 'later.conf'))
  for (let message = 0; message < 2; message++) host.traffic.sendMessage(box)
  host.traffic.uploadMedia(box)

  const payloadOf = (change: Partial<Payload> = {}): Payload => ({
    slug: 'oak',
    boxId: 'box_oak',
    ownershipEpoch: 1,
    snapshotId: taken.snapshotId,
    snapshotSha256: taken.snapshotSha256,
    probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 30 * 60_000 },
    deadlineMs: 30 * 86_400_000,
    ...change,
  })
  const agent = (around?: (ports: Ports) => Ports, fileStore?: FileStore): Promise<RestoreDeps> => world.agent(around, fileStore)
  const run = async (change: Partial<Payload> = {}, { deps, steps = restoreStepsOfBox, context }: Run = {}): Promise<RestoreResult> => {
    const agentDeps = deps ?? (await agent())
    const given = { ...aContext({ commandId: restoreId }), ...context }
    return moving(host.clock, () => restore(agentDeps, steps)(given, payloadOf(change)), 5_000)
  }
  return { ...world, agent, run, taken, restoreId, payloadOf, homeserver: () => readFile(config, 'utf8'), rules: () => readdir(rules) }
}

/** Gives the box the rest of what the box template has, so that it can be handed over. Returns what a move needs beside the deps of a restore. */
export async function makeMovable({ box }: Pick<LivedOn, 'box'>) {
  const { folder, composeFile } = box.project
  await writeFile(composeFile, (await readFile(composeFile, 'utf8')).replace('"media:/media"', '"media:/media", "./synapse:/data"'))
  await writeFile(join(folder, 'synapse/homeserver.yaml'), 'server_name: oak.test\nmedia_store_path: /media\n')
  await rm(join(folder, 'edge/conf.d/later.conf'))
  await mkdir(join(folder, 'secrets/minio'), { recursive: true })
  await writeFile(join(folder, 'secrets/minio/root-user'), 'oak\n')
  await writeFile(join(folder, 'secrets/box.json'), secretsText(newBoxSecrets(seededRandom('secrets'), box.boxId)))
  await writeFile(join(folder, 'secrets/probe.json'), JSON.stringify({ userId: '@a:oak.test', accessToken: 'a', roomId: '!a:oak.test' }))
  return { settings: { templateFolder } }
}

type Run = { deps?: RestoreDeps; steps?: RestoreSteps; context?: Partial<CommandContext> }
export type LivedOn = Awaited<ReturnType<typeof aLivedOnBox>>

export const asInSnapshot = { messages: 3, media: 1, objects: 1 }
export const asItLivedOn = { messages: 5, media: 2, objects: 2 }
