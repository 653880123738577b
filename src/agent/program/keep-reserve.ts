import { type Clock, problem } from '../../core/kit/index.ts'
import { type DiskSpace, reserveBytes } from '../backup/index.ts'
import type { BoxServers, ContainerEngine, SnapshotStore } from '../ports/index.ts'

type Deps = Readonly<{
  clock: Clock
  disk: Pick<DiskSpace, 'freeBytes'>
  /** The agent's own: journals, dumps and what is remembered of snapshots. */
  stateFolder: string
}>
type Ports = Readonly<{ engine: ContainerEngine; servers: BoxServers; snapshots: SnapshotStore }>

const lookEveryMs = 1_000

/**
 * The same ports, whose pulls, dumps and snapshots end before they use up what is kept free for the boxes and the journal (SAFETY, Agents):
 * whatever was reckoned before, an image is as large as it is, and others write to the disks too. They throw DISK_FULL then, as on a full
 * disk. What a snapshot is brought back to is not watched: the way back may use all that there is.
 */
export const keepingReserve = (deps: Deps, { engine, servers, snapshots }: Ports): Ports => ({
  engine: {
    ...engine,
    pull: async (image, options) => {
      const [images, volumes] = await Promise.all([engine.imageFolders(), engine.volumesFolder()])
      if (volumes === undefined) return engine.pull(image, options) // the engine's disk is another machine's
      const pull = (signal: AbortSignal) => engine.pull(image, { ...options, signal })
      return whileRoom(deps, { what: `${image} cannot be pulled`, folders: [...images, volumes], signal: options.signal }, pull)
    },
  },
  servers: {
    ...servers,
    dumpDatabase: (box, folder, signal) =>
      whileRoom(deps, { what: `the database of ${box.slug} cannot be dumped`, folders: [folder], signal }, (within) =>
        servers.dumpDatabase(box, folder, within),
      ),
  },
  snapshots: {
    ...snapshots,
    take: (repository, request, signal) =>
      whileRoom(deps, { what: `no snapshot of ${request.slug} can be taken`, folders: [deps.stateFolder], signal }, (within) =>
        snapshots.take(repository, request, within),
      ),
  },
})

type Writing = Readonly<{ what: string; folders: readonly string[]; signal: AbortSignal | undefined }>

async function whileRoom<Value>(
  deps: Deps,
  { what, folders, signal }: Writing,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const [short, over] = [new AbortController(), new AbortController()]
  const shortAt = () => firstShort(deps, folders)
  signal?.throwIfAborted()
  const full = await shortAt()
  if (full !== undefined) throw refusal(what, full)
  const watch = async () => {
    while (!over.signal.aborted) {
      await deps.clock.sleep(lookEveryMs, over.signal)
      // A disk that cannot be asked is no full one.
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

async function firstShort({ disk }: Deps, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) if ((await disk.freeBytes(folder)) < reserveBytes) return folder
  return undefined
}

const refusal = (what: string, folder: string) =>
  problem(
    'DISK_FULL',
    `${what}: less than ${reserveBytes / 1024 / 1024} MB are free at ${folder}, which stay free for the boxes; free some there, then try again`,
  )

/** A signal that is given no reason makes an exception with a stack; nobody reads this one. */
const ended = 'ended'
