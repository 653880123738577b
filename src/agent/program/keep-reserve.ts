import { type Clock, problem } from '../../core/kit/index.ts'
import { type DiskSpace, reserveBytes } from '../backup/index.ts'
import type { BoxServers, ContainerEngine, SnapshotStore } from '../ports/index.ts'

type Deps = Readonly<{
  clock: Clock
  disk: Pick<DiskSpace, 'freeBytes'>
  /** State folder of the agent, with journals, dumps and the restic cache. */
  stateFolder: string
}>
type Ports = Readonly<{ engine: ContainerEngine; servers: BoxServers; snapshots: SnapshotStore }>

const checkEveryMs = 1_000

/**
 * Wraps the ports so that pulls, dumps and snapshots throw DISK_FULL before they use up the disk reserve (SAFETY, Agents): estimates can be
 * wrong, and others write to the disks too. Restores are not limited, because a rollback may use all space.
 */
export const keepDiskFree = (deps: Deps, { engine, servers, snapshots }: Ports): Ports => ({
  engine: {
    ...engine,
    pull: async (image, options) => {
      const [images, volumes] = await Promise.all([engine.imageFolders(), engine.volumesFolder()])
      if (volumes === undefined) return engine.pull(image, options) // the engine runs on another machine
      const pull = (signal: AbortSignal) => engine.pull(image, { ...options, signal })
      return whileSpaceLeft(deps, { what: `Cannot pull ${image}`, folders: [...images, volumes], signal: options.signal }, pull)
    },
  },
  servers: {
    ...servers,
    dumpDatabase: (box, folder, signal) =>
      whileSpaceLeft(deps, { what: `Cannot dump the database of ${box.slug}`, folders: [folder], signal }, (within) =>
        servers.dumpDatabase(box, folder, within),
      ),
  },
  snapshots: {
    ...snapshots,
    take: (repository, request, signal) =>
      whileSpaceLeft(deps, { what: `Cannot take a snapshot of ${request.slug}`, folders: [deps.stateFolder], signal }, (within) =>
        snapshots.take(repository, request, within),
      ),
  },
})

type Writing = Readonly<{ what: string; folders: readonly string[]; signal: AbortSignal | undefined }>

async function whileSpaceLeft<Value>(
  deps: Deps,
  { what, folders, signal }: Writing,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const [short, over] = [new AbortController(), new AbortController()]
  const shortAt = () => firstFullFolder(deps, folders)
  signal?.throwIfAborted()
  const full = await shortAt()
  if (full !== undefined) throw refusal(what, full)
  const watch = async () => {
    while (!over.signal.aborted) {
      await deps.clock.sleep(checkEveryMs, over.signal)
      // A failed check does not count as a full disk.
      const full = over.signal.aborted ? undefined : await shortAt().catch(() => undefined)
      if (full !== undefined) return short.abort(refusal(what, full))
    }
  }
  void watch()
  try {
    return await work(signal ? AbortSignal.any([signal, short.signal]) : short.signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw short.signal.aborted ? short.signal.reason : error
  } finally {
    over.abort(ended)
  }
}

async function firstFullFolder({ disk }: Deps, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) if ((await disk.freeBytes(folder)) < reserveBytes) return folder
  return undefined
}

const refusal = (what: string, folder: string) =>
  problem(
    'DISK_FULL',
    `${what}: less than ${reserveBytes / 1024 / 1024} MB free at ${folder} (reserved for running boxes). fix: free disk space there, then retry`,
  )

/** An abort without a reason creates an exception with a stack trace. */
const ended = 'ended'
