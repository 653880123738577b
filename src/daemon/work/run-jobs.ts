import { type WorkerPool, workersPerPool } from '../../core/jobs/index.ts'
import type { Loop, Round } from '../feature/index.ts'
import { allPools, assignNewJobs, leaseQueues, readDue } from './queues.repo.ts'
import { type RunJobsDeps, workQueue } from './work-queue.ts'

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
 * Runs due jobs, and at the end waits for those that run. Every pool has its own workers, so a slow pool delays no other.
 * An idle poll is one statement, however many tenants there are.
 */
export function jobsLoop(deps: RunJobsDeps): Loop {
  const workers: Workers = new Map(allPools.map((pool) => [pool, new Set<Promise<void>>()]))
  return {
    name: 'run due jobs',
    everyMs: 1000,
    run: (round) => startWorkers(deps, workers, round),
    atEnd: () => Promise.all([...workers.values()].flatMap((running) => [...running])),
  }
}

type Workers = ReadonlyMap<WorkerPool, Set<Promise<void>>>

/** The loop is woken when a worker of a full pool finishes: more jobs may be due. */
async function startWorkers(deps: RunJobsDeps, workers: Workers, { wake, signal }: Round): Promise<void> {
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
          if (isFull) wake()
        })
      running.add(worker)
    }
  }
}
