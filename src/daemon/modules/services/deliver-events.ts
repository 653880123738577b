import { isoNow } from '../../../core/kit/index.ts'
import { acquireLease, type Lease, releaseLease, renewLease } from '../../db/index.ts'
import type { Loop } from '../../feature/index.ts'
import { type Delivered, type DeliveryDeps, deliverNext } from './deliver-event.ts'
import { dueServices, dueTenants } from './due-services.ts'
import { findUpstream } from './upstreams.repo.ts'

const leaseMs = 60_000
/** Installations of one service that get an event at the same time. */
const concurrency = 4
/** Events of an installation in one turn. */
const eventsInARow = 20
/** With the last call of 10 s it is shorter than the lease. */
const maxRoundMs = 30_000

/** The tenant of a service that had the last turn in this process. */
type Rotation = { after: string }

/**
 * Delivers events to services. Each service has a worker of its own, under a lease, so a slow one delays no other, and no two
 * replicas send events of one installation at the same time.
 */
export function deliveryLoop(deps: DeliveryDeps): Loop {
  const [workers, rotations] = [new Map<string, Promise<void>>(), new Map<string, Rotation>()]
  return {
    name: 'deliver events to services of modules',
    everyMs: 1000,
    run: ({ signal }) => startWorkers(deps, { workers, rotations, signal }),
    atEnd: () => Promise.all(workers.values()),
  }
}

type Running = Readonly<{ workers: Map<string, Promise<void>>; rotations: Map<string, Rotation>; signal: AbortSignal }>

async function startWorkers(deps: DeliveryDeps, { workers, rotations, signal }: Running): Promise<void> {
  for (const moduleId of await dueServices(deps.db, isoNow(deps.clock))) {
    if (workers.has(moduleId)) continue
    const rotation = rotations.get(moduleId) ?? { after: '' }
    rotations.set(moduleId, rotation)
    const worker = deliverToService(deps, { moduleId, rotation }, signal)
      .catch((err) => deps.log.warn({ err, moduleId }, 'deliveries to a service failed and will be retried'))
      .then(() => void workers.delete(moduleId))
    workers.set(moduleId, worker)
  }
}

type Served = Readonly<{ moduleId: string; rotation: Rotation }>

/** Delivers what is due to one service, if no other replica does. */
export async function deliverToService(deps: DeliveryDeps, served: Served, signal: AbortSignal): Promise<void> {
  const lease = await acquireLease(deps, { name: `module-service:${served.moduleId}`, owner: deps.owner, ttlMs: leaseMs })
  if (!lease) return
  try {
    while (!signal.aborted && (await renewLease(deps, lease, leaseMs)))
      if (!(await deliverRound(deps, { ...served, lease, signal }))) return
  } finally {
    await releaseLease(deps, lease)
  }
}

type Round = Served & Readonly<{ lease: Lease; signal: AbortSignal }>

/** Some events of some installations, in order each. Returns whether there may be more. A service that did not answer gets one event first. */
async function deliverRound(deps: DeliveryDeps, { moduleId, rotation, lease, signal }: Round): Promise<boolean> {
  const upstream = await findUpstream(deps.db, moduleId)
  if (!upstream) return false
  const isProbe = upstream.failures > 0
  const turn = { moduleId, isProbe, now: isoNow(deps.clock), after: rotation.after, limit: isProbe ? 1 : concurrency }
  const tenants = await dueTenants(deps.db, turn)
  rotation.after = tenants.at(-1) ?? ''
  const startedMs = deps.clock.monotonicMs()
  const mayContinue = () => !signal.aborted && deps.clock.monotonicMs() - startedMs < maxRoundMs
  const deliverTo = async (tenantId: string): Promise<Readonly<{ last: Delivered; delivered: number }>> => {
    let [last, delivered]: [Delivered, number] = ['more', 0]
    while (last === 'more' && delivered < eventsInARow && mayContinue()) {
      last = await deliverNext(deps, { tenantId, upstream, lease, signal })
      if (last === 'more') delivered++
    }
    return { last, delivered }
  }
  const turns = await Promise.all(tenants.map(deliverTo))
  return turns.some(({ delivered }) => delivered > 0) && !turns.some(({ last }) => last === 'away')
}
