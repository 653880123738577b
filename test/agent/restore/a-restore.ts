import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { clearDump, takeBoxSnapshot } from '../../../src/agent/backup/index.ts'
import type { FileStore } from '../../../src/agent/journal/index.ts'
import type { CommandContext } from '../../../src/agent/ports/index.ts'
import { type RestoreDeps, type RestoreSteps, restore, restoreStepsOfBox } from '../../../src/agent/restore/index.ts'
import type { BoxCommandPayload, RestoreResult } from '../../../src/core/boxes/index.ts'
import { moving } from '../simulated/boxes.ts'
import { aContext, aWorld, type Ports } from '../update/an-update.ts'

type Payload = BoxCommandPayload<'tenant-box.restore'>
type Options = NonNullable<Parameters<typeof aWorld>[0]>

const repository = { repository: 'sim:oak', password: 'a key', env: {} }
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

type Run = { deps?: RestoreDeps; steps?: RestoreSteps; context?: Partial<CommandContext> }
export type LivedOn = Awaited<ReturnType<typeof aLivedOnBox>>

export const asInSnapshot = { messages: 3, media: 1, objects: 1 }
export const asItLivedOn = { messages: 5, media: 2, objects: 2 }
