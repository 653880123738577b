import { shares, type Track } from '../../../core/outbox/index.ts'
import { admitNoted, lookAround, takeQueues } from './queues.ts'
import { type OutboxNeeds, workQueue } from './work-queue.ts'

const allTracks = Object.keys(shares) as Track[]
const everyMs = 1000

/** Works off all that is due, and answers how many rows that were. Any number of replicas may call it at once. */
export async function drainOutbox(needs: OutboxNeeds, signal?: AbortSignal): Promise<number> {
  for (let taken = 0; ; ) {
    const turns = await Promise.all((await tracksToWork(needs)).map((track) => workTrack(needs, track, signal)))
    const sum = turns.flat().reduce((all, one) => all + one, 0)
    if (sum === 0) return taken
    taken += sum
  }
}

/** Those in which something is due, once what was noted is in its queues. */
async function tracksToWork(needs: OutboxNeeds): Promise<Track[]> {
  let due = await lookAround(needs)
  if (due.noted) {
    await admitNoted(needs)
    due = await lookAround(needs)
  }
  return allTracks.filter((track) => due[track])
}

async function workTrack(needs: OutboxNeeds, track: Track, signal: AbortSignal | undefined): Promise<number[]> {
  const queues = signal?.aborted ? [] : await takeQueues(needs, track, shares[track])
  return Promise.all(queues.map((held) => workQueue(needs, held, signal)))
}

/**
 * Works off what is due until the signal aborts, each kind with its share of the workers: what takes long holds up nothing of another kind,
 * and of its own kind only once all workers have such work. Looking while there is nothing to do costs the same however many tenants there are.
 */
export async function runOutbox(needs: OutboxNeeds, signal: AbortSignal): Promise<void> {
  const working = new Map(allTracks.map((track) => [track, new Set<Promise<void>>()]))
  let soon = new AbortController()
  signal.addEventListener('abort', () => soon.abort())
  while (!signal.aborted) {
    soon = new AbortController()
    await fillUp(needs, working, () => soon.abort(), signal).catch((err) =>
      needs.log.warn({ err }, 'follow-up work was not looked for and will be again'),
    )
    if (!signal.aborted) await needs.clock.sleep(everyMs, soon.signal)
  }
  await Promise.all([...working.values()].flatMap((workers) => [...workers]))
}

type Working = ReadonlyMap<Track, Set<Promise<void>>>

/** `next` is called when a place is free that more work may be waiting for. */
async function fillUp(needs: OutboxNeeds, working: Working, next: () => void, signal: AbortSignal): Promise<void> {
  for (const track of await tracksToWork(needs)) {
    const workers = working.get(track) as Set<Promise<void>>
    const free = shares[track] - workers.size
    const queues = free > 0 ? await takeQueues(needs, track, free) : []
    const isFull = free > 0 && queues.length === free
    for (const held of queues) {
      const turn = workQueue(needs, held, signal)
        .catch((err) => needs.log.warn({ err, queue: held.queue }, 'follow-up work was broken off and will be taken over'))
        .then(() => {
          workers.delete(turn)
          if (isFull) next()
        })
      workers.add(turn)
    }
  }
}
