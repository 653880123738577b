import { join } from 'node:path'
import { maintainSnapshots, type SnapshotDeps, snapshot } from '../../../src/agent/backup/index.ts'
import { localBoxes } from '../../../src/agent/boxes/index.ts'
import { type FileStore, memoryLocks, memoryStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import type { BoxServers, CommandContext, ContainerEngine, Repository, SnapshotStore } from '../../../src/agent/ports/index.ts'
import type { FaultProfile } from '../../../src/agent/simulated/index.ts'
import type { BoxCommandPayload } from '../../../src/core/boxes/index.ts'
import { aHost, aRunningBox, moving } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'

type Ports = Readonly<{ engine: ContainerEngine; servers: BoxServers; snapshots: SnapshotStore }>

export const commandId = 'sn_1.snapshot'
export const repository: Repository = { repository: '/srv/snapshots/oak', password: 'a key', env: {}, mayCreate: true }
const addressed = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1 }

export const aSnapshotPayload = (change: Partial<BoxCommandPayload<'tenant-box.snapshot'>> = {}) => ({
  ...addressed,
  tier: 'daily' as const,
  ...change,
})
export const aTendPayload = (change: Partial<BoxCommandPayload<'tenant-box.tend_snapshots'>> = {}) => ({
  ...addressed,
  forget: [],
  prune: false,
  check: 'none' as const,
  ...change,
})

type Secrets = Awaited<ReturnType<CommandContext['secrets']>>
export const aContext = (
  change: Partial<CommandContext> = {},
  snapshots: Secrets['snapshots'] = { ...repository, env: {} },
): CommandContext => ({
  commandId,
  signal: new AbortController().signal,
  progress: () => undefined,
  secrets: async () => ({ snapshots }),
  migrations: async () => [],
  deliver: async () => undefined,
  sendLines: async () => 'ended',
  ...change,
})

/** A simulated host with one running box that holds a message and a picture, and agents that can be started one after another. */
export async function aBackedUpBox(profile?: FaultProfile) {
  const host = await aHost(profile ? { profile } : {})
  const box = await aRunningBox(host)
  host.traffic.sendMessage(box)
  host.traffic.uploadMedia(box)
  const boxes = localBoxes(host.folder)
  await boxes.put(box)
  const fileStore = memoryStore()
  const locks = memoryLocks()
  const workFolder = join(host.folder, 'work')
  const agent = async (ports: Ports = host, files: FileStore = fileStore): Promise<SnapshotDeps> => {
    const { engine, servers, snapshots } = ports
    const journal = await openJournal({ store: files, clock: host.clock })
    const disk = aDisk()
    return { engine, servers, snapshots, boxes, journal, once: onceOnly({ journal, locks }), clock: host.clock, disk, workFolder }
  }
  const take = async (payload = aSnapshotPayload(), context = aContext(), deps?: SnapshotDeps) => {
    const agentDeps = deps ?? (await agent())
    return (await moving(host.clock, () => snapshot(agentDeps)(context, payload))).snapshot
  }
  const tend = async (payload = aTendPayload(), context = aContext({ commandId: 'sn_1.tend' }), deps?: SnapshotDeps) => {
    const agentDeps = deps ?? (await agent())
    return moving(host.clock, () => maintainSnapshots(agentDeps)(context, payload))
  }
  return { host, box, fileStore, locks, workFolder, agent, take, tend }
}
