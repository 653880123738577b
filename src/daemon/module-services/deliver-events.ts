import { isoNow } from '../../core/kit/index.ts'
import { acquireLease, type Lease, releaseLease, renewLease } from '../db/index.ts'
import { type Delivered, type DeliveryDeps, deliverNext } from './deliver-event.ts'
import { dueServices, dueTenants } from './due-services.ts'
import { findUpstream } from './upstreams.repo.ts'

const pollMs = 1000
const leaseMs = 60_000
/** Installations of one service that get an event at the same time. */
const concurrency = 4
/** Events of an installation before the next one has its turn. */
const eventsInARow = 20
/** With the last call of 10 s it is shorter than the lease. */
const maxRoundMs = 30_000

/**
 * Delivers events to services until the signal aborts. Each service has a worker of its own, under a lease, so a slow one delays no other, and no two
 * replicas send events of one installation at the same time.
 */
export async function runDeliveries(deps: DeliveryDeps, signal: AbortSignal): Promise<void> {
  const workers = new Map<string, Promise<void>>()
  while (!signal.aborted) {
    await startWorkers(deps, workers, signal).catch((err) =>
      deps.log.warn({ err }, 'finding events for services failed and will be retried'),
    )
    await deps.clock.sleep(pollMs, signal)
  }
  await Promise.all(workers.values())
}

async function startWorkers(deps: DeliveryDeps, workers: Map<string, Promise<void>>, signal: AbortSignal): Promise<void> {
  for (const moduleId of await dueServices(deps.db, isoNow(deps.clock))) {
    if (workers.has(moduleId)) continue
    const worker = deliverToService(deps, moduleId, signal)
      .catch((err) => deps.log.warn({ err, moduleId }, 'deliveries to a service failed and will be retried'))
      .then(() => void workers.delete(moduleId))
    workers.set(moduleId, worker)
  }
}

/** Delivers what is due to one service, if no other replica does. */
export async function deliverToService(deps: DeliveryDeps, moduleId: string, signal: AbortSignal): Promise<void> {
  const lease = await acquireLease(deps, { name: `module-service:${moduleId}`, owner: deps.owner, ttlMs: leaseMs })
  if (!lease) return
  try {
    while (!signal.aborted && (await renewLease(deps, lease, leaseMs))) if (!(await deliverRound(deps, { moduleId, lease, signal }))) return
  } finally {
    await releaseLease(deps, lease)
  }
}

type Round = Readonly<{ moduleId: string; lease: Lease; signal: AbortSignal }>

/** Some events of some installations, in order each. Returns whether there may be more. A service that did not answer gets one event first. */
async function deliverRound(deps: DeliveryDeps, { moduleId, lease, signal }: Round): Promise<boolean> {
  const upstream = await findUpstream(deps.db, moduleId)
  if (!upstream) return false
  const tenants = await dueTenants(deps.db, { moduleId, now: isoNow(deps.clock), limit: upstream.failures > 0 ? 1 : concurrency })
  const startedMs = deps.clock.monotonicMs()
  const mayContinue = () => !signal.aborted && deps.clock.monotonicMs() - startedMs < maxRoundMs
  const deliverTo = async (tenantId: string): Promise<Delivered> => {
    let outcome: Delivered = 'more'
    for (let n = 0; n < eventsInARow && outcome === 'more' && mayContinue(); n++)
      outcome = await deliverNext(deps, { tenantId, upstream, lease, signal })
    return outcome
  }
  const outcomes = await Promise.all(tenants.map(deliverTo))
  return outcomes.includes('more') && !outcomes.includes('away')
}
