import { shares, type Track } from '../../../core/outbox/index.ts'
import { admitNoted, lookAround, takeQueues } from './queues.ts'
import { type OutboxDeps, workQueue } from './work-queue.ts'

const allTracks = Object.keys(shares) as Track[]
const everyMs = 1000

/** Works off all that is due, and answers how many rows that were. Any number of replicas may call it at once. */
export async function drainOutbox(deps: OutboxDeps, signal?: AbortSignal): Promise<number> {
  for (let taken = 0; ; ) {
    const turns = await Promise.all((await tracksToWork(deps)).map((track) => workTrack(deps, track, signal)))
    const sum = turns.flat().reduce((all, one) => all + one, 0)
    if (sum === 0) return taken
    taken += sum
  }
}

/** Those in which something is due, once what was noted is in its queues. */
async function tracksToWork(deps: OutboxDeps): Promise<Track[]> {
  let due = await lookAround(deps)
  if (due.noted) {
    await admitNoted(deps)
    due = await lookAround(deps)
  }
  return allTracks.filter((track) => due[track])
}

async function workTrack(deps: OutboxDeps, track: Track, signal: AbortSignal | undefined): Promise<number[]> {
  const queues = signal?.aborted ? [] : await takeQueues(deps, track, shares[track])
  return Promise.all(queues.map((held) => workQueue(deps, held, signal)))
}

/**
 * Works off what is due until the signal aborts, each kind with its share of the workers: what takes long holds up nothing of another kind,
 * and of its own kind only once all workers have such work. Looking while there is nothing to do costs the same however many tenants there are.
 */
export async function runOutbox(deps: OutboxDeps, signal: AbortSignal): Promise<void> {
  const working = new Map(allTracks.map((track) => [track, new Set<Promise<void>>()]))
  let soon = new AbortController()
  signal.addEventListener('abort', () => soon.abort())
  while (!signal.aborted) {
    soon = new AbortController()
    await fillUp(deps, working, () => soon.abort(), signal).catch((err) =>
      deps.log.warn({ err }, 'follow-up work was not looked for and will be again'),
    )
    if (!signal.aborted) await deps.clock.sleep(everyMs, soon.signal)
  }
  await Promise.all([...working.values()].flatMap((workers) => [...workers]))
}

type Working = ReadonlyMap<Track, Set<Promise<void>>>

/** `next` is called when a place is free that more work may be waiting for. */
async function fillUp(deps: OutboxDeps, working: Working, next: () => void, signal: AbortSignal): Promise<void> {
  for (const track of await tracksToWork(deps)) {
    const workers = working.get(track) as Set<Promise<void>>
    const free = shares[track] - workers.size
    const queues = free > 0 ? await takeQueues(deps, track, free) : []
    const isFull = free > 0 && queues.length === free
    for (const held of queues) {
      const turn = workQueue(deps, held, signal)
        .catch((err) => deps.log.warn({ err, queue: held.queue }, 'follow-up work was broken off and will be taken over'))
        .then(() => {
          workers.delete(turn)
          if (isFull) next()
        })
      workers.add(turn)
    }
  }
}
