import { stat, statfs } from 'node:fs/promises'
import { cpus, freemem, loadavg, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import type { EngineInfo, HostResources } from '../../core/hosts/index.ts'
import { hostDisk } from '../backup/index.ts'
import { boxServers } from '../box-servers/index.ts'
import { composeRecord, type FindFacts, factFinder, type LocalBoxes, localBoxes } from '../boxes/index.ts'
import { dockerEngine } from '../docker/index.ts'
import { ownedEnvironment } from '../journal/index.ts'
import type { BoxServers, ContainerEngine, SnapshotStore } from '../ports/index.ts'
import { resticSnapshots } from '../snapshots/index.ts'
import { keepDiskFree } from './keep-reserve.ts'
import type { AgentSettings, Machine } from './settings.ts'

/** Engine, snapshots and boxes of this machine. Creating it has no side effects. */
export type LocalHost = Readonly<{
  /** Marks the agent's child processes, so that a later agent finds the ones left running. */
  owner: string
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  boxes: LocalBoxes
  findFacts: FindFacts
  /** The folder of the volumes; undefined while the engine does not name it, and for an engine on another machine. */
  volumesFolder(): Promise<string | undefined>
}>

/** Requests to the engine are repeated for 6 s while it restarts, unless the machine says otherwise. */
export function localHost(
  { clock, random, engineRetryMs }: Pick<Machine, 'clock' | 'random' | 'engineRetryMs'>,
  { stateDir, dockerHost, dockerConfig, docker, restic }: AgentSettings,
): LocalHost {
  const owner = resolve(stateDir)
  const bare = dockerEngine({
    dockerHost,
    ...(dockerConfig === undefined ? {} : { dockerConfig }),
    ...(docker === undefined ? {} : { docker }),
    childEnvironment: ownedEnvironment(owner, 'engine'),
    ...(engineRetryMs === undefined ? {} : { limits: { retryMs: engineRetryMs } }),
  })
  const { engine, servers, snapshots } = keepDiskFree(
    { clock, disk: hostDisk, stateFolder: owner },
    {
      engine: bare,
      servers: boxServers({ engine: bare, clock, random }),
      snapshots: resticSnapshots({ program: restic, owner, cacheFolder: join(owner, 'restic-cache') }),
    },
  )
  const boxes = localBoxes(owner)
  return {
    owner,
    engine,
    servers,
    snapshots,
    boxes,
    findFacts: factFinder({ engine, clock, disk: hostDisk, compose: composeRecord({ stateFolder: owner, boxes }) }),
    volumesFolder: onceKnown(() => engine.volumesFolder()),
  }
}

/** Asks until there is an answer, and then no more. */
function onceKnown<Answer>(ask: () => Promise<Answer | undefined>): () => Promise<Answer | undefined> {
  let known: Answer | undefined
  return async () => {
    known ??= await ask().catch(() => undefined)
    return known
  }
}

/** Machine facts for the daemon; null where unknown. */
export async function describeMachine(
  host: LocalHost,
  settings: AgentSettings,
): Promise<{ engine: EngineInfo | null; resources: HostResources | null }> {
  const [info, restic, resources] = await Promise.all([
    host.engine.info().catch(() => null),
    host.snapshots.version().catch(() => null),
    hostResources(host, settings),
  ])
  return { engine: info && { ...info, restic }, resources }
}

/** Resource usage of the machine, reported every minute, so it starts no process. Null when the disk cannot be read. */
export async function hostResources(
  { owner, boxes, volumesFolder }: Pick<LocalHost, 'owner' | 'boxes' | 'volumesFolder'>,
  { boxesDir }: Pick<AgentSettings, 'boxesDir'>,
): Promise<HostResources | null> {
  const [disk, names, reserve] = await Promise.all([
    fullestDisk([boxesDir, owner, await volumesFolder()]).then((disk) => disk ?? fullestDisk(['/'])),
    boxes.list().catch(() => undefined),
    stat(join(owner, 'disk-reserve')).catch(() => undefined),
  ])
  if (!disk) return null
  return {
    cpus: cpus().length,
    memoryBytes: totalmem(),
    memoryAvailableBytes: freemem(),
    load: loadavg() as [number, number, number],
    ...disk,
    ...(names ? { boxes: names.length } : {}),
    ballast: reserve ? 'kept' : 'used',
    agentRssBytes: process.memoryUsage.rss(),
    uptimeMs: Math.round(process.uptime() * 1000),
  }
}

/** The disk with the smallest free part: databases are in volumes, which are often on a disk of their own. Null if none can be read. */
async function fullestDisk(
  folders: readonly (string | undefined)[],
): Promise<Pick<HostResources, 'diskBytes' | 'freeDiskBytes' | 'diskPath'> | null> {
  const read = async (diskPath: string) => {
    const { blocks, bavail, bsize } = await statfs(diskPath)
    return { diskBytes: blocks * bsize, freeDiskBytes: bavail * bsize, diskPath: diskPath.slice(0, 300) }
  }
  const disks = await Promise.all(folders.map((folder) => (folder === undefined ? [] : read(folder).catch(() => []))))
  const freePart = ({ diskBytes, freeDiskBytes }: { diskBytes: number; freeDiskBytes: number }) => freeDiskBytes / diskBytes
  return (
    disks
      .flat()
      .filter(({ diskBytes }) => diskBytes > 0)
      .toSorted((a, b) => freePart(a) - freePart(b))[0] ?? null
  )
}
