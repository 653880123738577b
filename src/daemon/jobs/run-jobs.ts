import { type WorkerPool, workersPerPool } from '../../core/jobs/index.ts'
import { allPools, assignNewJobs, leaseQueues, readDue } from './queues.repo.ts'
import { type RunJobsDeps, workQueue } from './work-queue.ts'

const pollMs = 1000

/** Runs all jobs that are due and returns their number. Any number of replicas may call it at once. */
export async function drainJobs(deps: RunJobsDeps, signal?: AbortSignal): Promise<number> {
  for (let total = 0; ; ) {
    const counts = await Promise.all((await poolsWithWork(deps)).map((pool) => drainPool(deps, pool, signal)))
    const count = counts.flat().reduce((sum, one) => sum + one, 0)
    if (count === 0) return total
    total += count
  }
}

async function poolsWithWork(deps: RunJobsDeps): Promise<WorkerPool[]> {
  const { pools, hasNew } = await readDue(deps)
  if (!hasNew) return pools
  await assignNewJobs(deps)
  return (await readDue(deps)).pools
}

async function drainPool(deps: RunJobsDeps, pool: WorkerPool, signal: AbortSignal | undefined): Promise<number[]> {
  const queues = signal?.aborted ? [] : await leaseQueues(deps, pool, workersPerPool[pool])
  return Promise.all(queues.map((queue) => workQueue(deps, queue, signal)))
}

/**
 * Runs due jobs until the signal aborts, then waits for those that run. Every pool has its own workers, so a slow pool delays no other.
 * An idle poll is one statement, however many tenants there are.
 */
export async function runJobs(deps: RunJobsDeps, signal: AbortSignal): Promise<void> {
  const workers: Workers = new Map(allPools.map((pool) => [pool, new Set<Promise<void>>()]))
  let idle = new AbortController()
  signal.addEventListener('abort', () => idle.abort())
  while (!signal.aborted) {
    idle = new AbortController()
    await startWorkers(deps, workers, { onFreeWorker: () => idle.abort(), signal }).catch((err) =>
      deps.log.warn({ err }, 'polling for jobs failed and will be retried'),
    )
    if (!signal.aborted) await deps.clock.sleep(pollMs, idle.signal)
  }
  await Promise.all([...workers.values()].flatMap((running) => [...running]))
}

type Workers = ReadonlyMap<WorkerPool, Set<Promise<void>>>

/** Calls `onFreeWorker` when a worker of a full pool finishes: more jobs may be due. */
async function startWorkers(
  deps: RunJobsDeps,
  workers: Workers,
  { onFreeWorker, signal }: Readonly<{ onFreeWorker: () => void; signal: AbortSignal }>,
): Promise<void> {
  for (const pool of await poolsWithWork(deps)) {
    const running = workers.get(pool) as Set<Promise<void>>
    const free = workersPerPool[pool] - running.size
    const queues = free > 0 ? await leaseQueues(deps, pool, free) : []
    const isFull = free > 0 && queues.length === free
    for (const queue of queues) {
      const worker = workQueue(deps, queue, signal)
        .catch((err) => deps.log.warn({ err, queue: queue.queue }, 'a job worker failed; its queue is taken over when the lease expires'))
        .then(() => {
          running.delete(worker)
          if (isFull) onFreeWorker()
        })
      running.add(worker)
    }
  }
}
