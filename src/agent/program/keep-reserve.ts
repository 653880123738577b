import { type Clock, problem } from '../../core/kit/index.ts'
import { type DiskSpace, reserveBytes } from '../backup/index.ts'
import type { BoxInside, ContainerEngine } from '../ports/index.ts'

type Needs = Readonly<{ clock: Clock; disk: Pick<DiskSpace, 'freeBytes'> }>
type Ports = Readonly<{ engine: ContainerEngine; inside: BoxInside }>

const lookEveryMs = 1_000

/**
 * The same ports, whose pulls and dumps end before they use up what is kept free for the boxes and the journal (SAFETY, Agents): whatever was
 * reckoned before, an image is as large as it is, and others write to the disk too. They throw DISK_FULL then, as on a full disk.
 */
export const keepingReserve = (needs: Needs, { engine, inside }: Ports): Ports => ({
  engine: {
    ...engine,
    pull: async (image, options) => {
      const folder = await engine.volumesFolder()
      if (folder === undefined) return engine.pull(image, options) // the engine's disk is another machine's
      const pull = (signal: AbortSignal) => engine.pull(image, { ...options, signal })
      return whileRoom(needs, { what: `${image} cannot be pulled`, folder, signal: options.signal }, pull)
    },
  },
  inside: {
    ...inside,
    dumpDatabase: (box, folder, signal) =>
      whileRoom(needs, { what: `the database of ${box.slug} cannot be dumped`, folder, signal }, (within) =>
        inside.dumpDatabase(box, folder, within),
      ),
  },
})

type Writing = Readonly<{ what: string; folder: string; signal: AbortSignal | undefined }>

async function whileRoom<Value>(
  needs: Needs,
  { what, folder, signal }: Writing,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const [short, over] = [new AbortController(), new AbortController()]
  const isShort = async () => (await needs.disk.freeBytes(folder)) < reserveBytes
  const refusal = () =>
    problem(
      'DISK_FULL',
      `${what}: less than ${reserveBytes / 1024 / 1024} MB are free at ${folder}, which stay free for the boxes; free some there, then try again`,
    )
  signal?.throwIfAborted()
  if (await isShort()) throw refusal()
  const watch = async () => {
    while (!over.signal.aborted) {
      await needs.clock.sleep(lookEveryMs, over.signal)
      // A disk that cannot be asked is no full one.
      if (!over.signal.aborted && (await isShort().catch(() => false))) return short.abort(refusal())
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

/** A signal that is given no reason makes an exception with a stack; nobody reads this one. */
const ended = 'ended'
