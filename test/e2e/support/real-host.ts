import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostDisk } from '../../../src/agent/backup/index.ts'
import { boxServers } from '../../../src/agent/box-servers/index.ts'
import { localBoxes, portInUse, provision } from '../../../src/agent/boxes/index.ts'
import { dockerEngine } from '../../../src/agent/docker/index.ts'
import type { DrillDeps } from '../../../src/agent/drill/index.ts'
import { type FileStore, fileLocks, folderStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import type { MoveDeps } from '../../../src/agent/move/index.ts'
import type { BoxServers, CommandContext, ContainerEngine, SnapshotStore } from '../../../src/agent/ports/index.ts'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import type { BoxCommandPayload } from '../../../src/core/boxes/index.ts'
import { systemClock, systemRandom } from '../../../src/node/index.ts'
import { aContext, aProvision, templateFolder } from '../../agent/boxes/provisioning.ts'
import { readTestbed } from '../../testbed/testbed.ts'
import { type ReachableBox, reachableBox } from './conversation.ts'

type Ports = Readonly<{ engine: ContainerEngine; servers: BoxServers; snapshots: SnapshotStore }>
export type RealDeps = MoveDeps & DrillDeps

export const soon = { consecutive: 2, spacingMs: 300, timeoutMs: 60_000 }

/** One host on this machine's engine, with its own prefix of project names; `end()` removes everything. */
export async function realHost(name: string, repository: string) {
  // Of this process alone: another run of the same test may use the same engine.
  const prefix = `${name}${process.pid}-`
  const { images, dockerHost, dockerConfig, docker, registry, restic } = readTestbed()
  const folder = await realpath(await mkdtemp(join(tmpdir(), `tenantry-${prefix}`)))
  const engine = dockerEngine({ dockerHost, dockerConfig, docker })
  const ports: Ports = {
    engine,
    servers: boxServers({ engine, clock: systemClock, random: systemRandom }),
    snapshots: resticSnapshots({ program: restic, owner: folder, cacheFolder: join(folder, 'cache') }),
  }
  const boxes = localBoxes(join(folder, 'state'))
  const fileStore = folderStore(join(folder, 'journal'))
  const allowedImages = [`${registry}/tenantry/*`]
  const settings = {
    boxesFolder: join(folder, 'boxes'),
    projectPrefix: prefix,
    templateFolder,
    allowedImages,
    binds: { public: '127.0.0.1', platform: '127.0.0.1' },
    maxUploadMegabytes: 50,
  }
  /** An agent that knows only what is on disk. */
  const agent = async (around: (ports: Ports) => Ports = (same) => same, files: FileStore = fileStore): Promise<RealDeps> => {
    const journal = await openJournal({ store: files, clock: systemClock })
    return {
      ...around(ports),
      clock: systemClock,
      random: systemRandom,
      boxes,
      journal,
      once: onceOnly({ journal, locks: fileLocks(join(folder, 'locks')) }),
      disk: hostDisk,
      allowedImages,
      settings,
      stateFolder: join(folder, 'state'),
      workFolder: join(folder, 'state', 'work'),
      portInUse,
    }
  }
  const make = async (slug: string, order: Partial<BoxCommandPayload<'tenant-box.provision'>>): Promise<ReachableBox> => {
    const payload = aProvision({
      slug,
      chatDomain: `${slug}.test`,
      images: { edge: images.edge.ref, synapse: images['synapse-1.157.1'].ref, postgres: images.postgres.ref, minio: images.minio.ref },
      probe: soon,
      ...order,
    })
    await provision(await agent())(aContext().context, payload)
    return reachableBox(slug, join(folder, 'boxes', slug), payload.ports)
  }
  const contextOf = (commandId: string, signal = new AbortController().signal): CommandContext => ({
    ...aContext(signal).context,
    commandId,
    secrets: async () => ({ snapshots: { repository: `file:${repository}`, password: 'a key', env: {}, mayCreate: true } }),
  })
  const end = async () => {
    for (const project of await engine.projects(prefix)) await engine.removeProject(project)
    await rm(folder, { recursive: true, force: true })
  }
  return { folder, prefix, engine, ports, boxes, fileStore, agent, make, contextOf, end }
}
export type RealHost = Awaited<ReturnType<typeof realHost>>
