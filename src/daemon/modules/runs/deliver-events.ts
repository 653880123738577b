import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { causeOf, maxDepth } from '../../../core/boards/index.ts'
import { isoIn, isoNow, newId } from '../../../core/kit/index.ts'
import { acquireLease, eventsAfter, headOf, releaseLease, type StoredEvent, type Tx } from '../../db/index.ts'
import { streamOf } from '../../events/index.ts'
import { depthAfter } from '../../flows/index.ts'
import { firstHeard, lastSkipped, shownPayload, skipEvents } from '../heard-events.ts'
import type { InstallationRecord } from '../installations.repo.ts'
import { listenersOf } from '../listeners.repo.ts'
import { failDelivery, findPosition, movePosition, type Position } from '../positions.repo.ts'
import { runnableInstallation } from '../runnable.ts'
import { insertRun, type NewRun } from '../runs.repo.ts'
import type { ModuleCode, ModuleRunsDeps } from './deps.ts'
import { type RunDeps, runOnce } from './run-module.ts'

type Deps = RunDeps & Pick<ModuleRunsDeps, 'owner'>

const pageSize = 100
/** Events of one installation before other tenants get their turn. */
const eventsPerTurn = 20
const leaseMs = 30_000
/** Waiting before the second and the third attempt. */
const retryMs = [10_000, 60_000] as const
const maxAttempts = retryMs.length + 1

/**
 * Delivers new events of a tenant to its modules, each in the order of the stream. One replica at a time; the position decides, so that a lost lease
 * applies nothing twice. Returns whether there may be more.
 */
export async function deliverTenant(deps: Deps, tenantId: string, signal?: AbortSignal): Promise<boolean> {
  const { db, clock, owner } = deps
  const head = await headOf(db, streamOf(tenantId))
  const behind = await listenersOf(db, { tenantId, head, now: isoNow(clock) })
  if (!(await Promise.all(behind.map((one) => runsHere(deps, one)))).includes(true)) return false
  const lease = await acquireLease({ db, clock }, { name: `module-events:${tenantId}`, owner, ttlMs: leaseMs })
  if (!lease) return false
  try {
    const listeners = await listenersOf(db, { tenantId, head, now: isoNow(clock) })
    const results = await Promise.allSettled(listeners.map((one) => deliverTo(deps, one, { head, signal })))
    for (const [n, result] of results.entries())
      if (result.status === 'rejected' && !signal?.aborted)
        deps.log.warn({ err: result.reason, tenantId, moduleId: listeners[n]?.moduleId }, 'events were not delivered to a module; retrying')
    return results.some((result) => result.status === 'fulfilled' && result.value)
  } finally {
    await releaseLease({ db, clock }, lease)
  }
}

/** The version runs on this platform; true too if its package cannot be read, which its delivery then logs. */
export const runsHere = ({ loadCode }: Pick<Deps, 'loadCode'>, version: Parameters<Deps['loadCode']>[0]): Promise<boolean> =>
  loadCode(version).then(
    ({ manifest }) => manifest.type === 'A',
    () => true,
  )

type Turn = Readonly<{ head: number; signal: AbortSignal | undefined }>

/** Returns whether there may be more to deliver now. */
async function deliverTo(deps: Deps, installation: InstallationRecord, { head, signal }: Turn): Promise<boolean> {
  const { db, clock } = deps
  const code = await deps.loadCode(installation)
  if (code.manifest.type === 'B') return false
  for (let delivered = 0; delivered < eventsPerTurn && !signal?.aborted; ) {
    const position = await findPosition(db, installation)
    if (!position || position.seq >= head) return false
    const page = await eventsAfter(db, { stream: streamOf(installation.tenantId), after: position.seq, limit: pageSize })
    const to = lastSkipped(clock, { after: position.seq, oldest: page[0], head })
    if (to !== undefined) {
      await db.transaction().execute((tx) => skipEvents(tx, clock, { ...keyOf(installation), from: position.seq, to }))
      continue
    }
    const event = await firstHeard(db, { installation, manifest: code.manifest, page })
    if (!event) {
      await movePosition(db, installation, { from: position.seq, to: (page.at(-1) as StoredEvent).seq })
      await yieldToEventLoop()
      continue
    }
    if (!(await deliver(deps, { installation, code, position, event }, signal))) return false
    delivered++
    if (!(await runnableInstallation(db, clock, installation))) return false
  }
  return true
}

const keyOf = ({ tenantId, moduleId }: InstallationRecord) => ({ tenantId, moduleId })

type Delivery = Readonly<{ installation: InstallationRecord; code: ModuleCode; position: Position; event: StoredEvent }>

/** Returns false if the next event cannot be delivered now. */
async function deliver(deps: Deps, delivery: Delivery, signal?: AbortSignal): Promise<boolean> {
  const { installation, code, position, event } = delivery
  const { tenantId } = installation
  const deliveryId = deliveryIdOf(event)
  const depth = await deps.db.transaction().execute((tx) => depthAfter(tx, { tenantId, event }))
  const about = {
    ...({ kind: 'event', eventType: event.eventType, cause: causeOf(event) ?? deliveryId, depth, deliveryId } as const),
    attempt: position.attempt + 1,
  }
  if (depth > maxDepth) return stopLoop(deps, delivery, about)
  const start = {
    ...{ installation, code, caller: null, about },
    job: { type: 'event', event: { type: event.eventType, payload: shownPayload(event), seq: event.seq, at: event.createdAt } } as const,
    alsoIn: (tx: Tx) => movePosition(tx, installation, { from: position.seq, to: event.seq }),
  }
  const first = await runOnce(deps, start, signal)
  const ran = first.outcome === 'conflict' ? await runOnce(deps, start, signal) : first
  if (ran.outcome === 'done') return true
  if (ran.outcome === 'failed' || ran.outcome === 'limit') return storeFailure(deps, delivery, ran.run)
  return false
}

const deliveryIdOf = ({ seq }: StoredEvent): string => `evt_${seq}`

type About = Pick<NewRun, 'kind' | 'eventType' | 'cause' | 'depth' | 'deliveryId' | 'attempt'>
const nothingRan: NewRun['result'] = { ms: 0, interpreterMs: 0, violations: [], log: [] }

/** A chain of modules and boards that start each other ends here, and the next event is read. */
async function stopLoop(deps: Deps, { installation, position, event }: Delivery, about: About): Promise<boolean> {
  const { tenantId, moduleId, version, generation } = installation
  const error = `LOOP: ${maxDepth} runs of modules and boards led to this event, one after the other`
  const run: NewRun = {
    ...{ ...about, id: newId(deps.random, 'mrn'), tenantId, moduleId, version, generation },
    ...{ status: 'loop', error, result: nothingRan, createdAt: isoNow(deps.clock) },
  }
  return deps.db.transaction().execute(async (tx) => {
    const isMoved = await movePosition(tx, installation, { from: position.seq, to: event.seq })
    if (isMoved) await insertRun(tx, run)
    return isMoved
  })
}

/** A broken limit would be broken again; what the module threw may pass. Returns whether the next event can be delivered. */
async function storeFailure(deps: Deps, { installation, position, event }: Delivery, run: NewRun): Promise<boolean> {
  const { clock } = deps
  const attempt = position.attempt + 1
  const isDead = run.status === 'limit' || attempt >= maxAttempts
  return deps.db.transaction().execute(async (tx) => {
    const waitMs = retryMs[attempt - 1] ?? 0
    const failure = { from: position.seq, attempt, nextAt: isoIn(clock, waitMs), deliveryId: deliveryIdOf(event), error: run.error ?? '' }
    const isStored = isDead
      ? await movePosition(tx, installation, { from: position.seq, to: event.seq })
      : await failDelivery(tx, installation, { ...failure, failingSince: position.failingSince ?? isoNow(clock) })
    if (isStored) await insertRun(tx, { ...run, status: isDead ? 'dead' : run.status })
    return isStored && isDead
  })
}
