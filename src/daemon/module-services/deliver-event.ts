import { alertOf } from '../../core/alerts/index.ts'
import { causeOf, maxDepth } from '../../core/boards/index.ts'
import { isoIn, isoNow, newId } from '../../core/kit/index.ts'
import {
  type Failure,
  isUnreachable,
  maxDeliveryMs,
  messageBody,
  messageId,
  readAnswer,
  retryAt,
} from '../../core/module-services/index.ts'
import type { ModuleManifest } from '../../core/modules/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { eventsAfter, headOf, holdLease, type Lease, type StoredEvent, type Tx } from '../db/index.ts'
import { streamOf } from '../events/index.ts'
import {
  findServiceInstallation,
  insertDeadLetter,
  insertServiceRun,
  lockUnchanged,
  passEvents,
  type ServiceInstallation,
  skipEvents,
  storeFailedAttempt,
} from '../modules/index.ts'
import { tenantById } from '../tenants/index.ts'
import { depthAfter } from '../triggers/index.ts'
import type { ServicesDeps } from './deps.ts'
import { hears, shownPayload } from './hears.ts'
import { publishAnswer } from './publish-answer.ts'
import { openSecret, recordAnswer, recordNoAnswer, type Upstream } from './upstreams.repo.ts'

const deliveryMs = 10_000
const pageSize = 100
const maxBehind = 10_000
const maxAgeMs = 7 * 86_400_000

export type DeliveryDeps = Pick<ServicesDeps, 'db' | 'clock' | 'random' | 'log' | 'keyring' | 'owner' | 'call' | 'manifestOf'>

/** `more`: the next event may follow at once. `wait`: nothing is due. `away`: the service does not answer, so no other installation is tried. */
export type Delivered = 'more' | 'wait' | 'away'

/** An installation of a service. The lease belongs to the process that delivers for this service. */
export type Recipient = Readonly<{ tenantId: string; upstream: Upstream; lease: Lease; signal: AbortSignal }>

/** Sends the next event of an installation and stores what became of it. */
export async function deliverNext(deps: DeliveryDeps, recipient: Recipient): Promise<Delivered> {
  const { tenantId, upstream, lease } = recipient
  const installation = await findServiceInstallation(deps.db, { tenantId, moduleId: upstream.moduleId })
  const manifest = installation && (await deps.manifestOf(deps.db, installation.moduleId, installation.version))
  if (!installation || !manifest) return 'wait'
  const page = await eventsAfter(deps.db, { stream: streamOf(tenantId), after: installation.seq, limit: pageSize })
  const [oldest] = page
  if (!oldest) return 'wait'
  const head = await headOf(deps.db, streamOf(tenantId))
  if (head - installation.seq > maxBehind || oldest.createdAt < isoIn(deps.clock, -maxAgeMs)) {
    await skip(deps, lease, { installation, to: head })
    return 'wait'
  }
  for (const event of page)
    if (await hears(deps.db, { installation, manifest, event })) return deliver(deps, recipient, { installation, manifest, event })
  const { seq } = page.at(-1) as StoredEvent
  await underLease(deps, lease, async (tx) => void (await passEvents(tx, installation, { from: installation.seq, to: seq })))
  return 'more'
}

const underLease = <Result>({ db }: Pick<DeliveryDeps, 'db'>, lease: Lease, work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    return work(tx)
  })

type Skip = Readonly<{ installation: ServiceInstallation; to: number }>

/** The service was away too long: the installation continues with new events. */
const skip = ({ db, clock }: DeliveryDeps, lease: Lease, { installation, to }: Skip) =>
  underLease({ db }, lease, async (tx) => {
    const { tenantId, moduleId, seq: from } = installation
    if (!(await skipEvents(tx, installation, { from, to, at: isoNow(clock) }))) return
    const slug = (await tenantById(tx, tenantId))?.slug ?? tenantId
    await raiseAlert(tx, clock, alertOf.module_events_skipped({ slug, moduleId, events: to - from }))
  })

type Delivery = Readonly<{ installation: ServiceInstallation; manifest: ModuleManifest; event: StoredEvent }>
/** `ms`: duration of the call. */
type Attempt = Delivery & Readonly<{ id: string; depth: number; ms: number }>

async function deliver(deps: DeliveryDeps, { upstream, lease, signal }: Recipient, delivery: Delivery): Promise<Delivered> {
  const { db, clock } = deps
  const { installation, event } = delivery
  const { tenantId, moduleId, version } = installation
  const { seq, eventType: type, createdAt: at } = event
  const id = messageId(tenantId, moduleId, seq)
  const depth = await db.transaction().execute((tx) => depthAfter(tx, { tenantId, event }))
  if (depth > maxDepth) return stopLoop(deps, lease, { ...delivery, id, depth, ms: 0 })
  const startedMs = clock.monotonicMs()
  const answer = await deps.call({
    ...{ upstream: upstream.url, secret: openSecret(deps.keyring, upstream).reveal(), id },
    body: messageBody(id, { type, at, tenantId, moduleId, version, payload: shownPayload(event), seq }),
    ...{ at: clock.now(), timeoutMs: deliveryMs, signal },
  })
  const attempt = { ...delivery, id, depth, ms: clock.monotonicMs() - startedMs }
  if (answer.ok) {
    await underLease(deps, lease, (tx) => storeDelivered(deps, tx, attempt, answer.body))
    if (upstream.failures > 0) await recordAnswer(db, moduleId)
    return 'more'
  }
  // The process stops: it is unknown whether the service took the event, which is sent again under the same id.
  if (signal.aborted) return 'wait'
  const isAway = isUnreachable(answer.failure)
  const restUntil = isAway ? await recordNoAnswer(deps, upstream) : undefined
  const isDead = await underLease(deps, lease, (tx) => storeFailure(deps, tx, attempt, { ...answer.failure, restUntil }))
  if (isAway) return 'away'
  return isDead ? 'more' : 'wait'
}

/** A chain of modules and boards that start each other ends here. */
const stopLoop = (deps: DeliveryDeps, lease: Lease, attempt: Attempt) =>
  underLease<Delivered>(deps, lease, async (tx) => {
    const { installation, event } = attempt
    const error = `LOOP: ${maxDepth} runs of modules and boards led to this event, one after the other`
    if (await passEvents(tx, installation, { from: installation.seq, to: event.seq }))
      await storeRun(deps, tx, attempt, { status: 'loop', error })
    return 'more'
  })

/**
 * The events that the service publishes and the position commit together: after a crash before it, the event is sent again under the same id. If the
 * installation changed meanwhile, the answer is dropped, and the next attempt decides again.
 */
async function storeDelivered(deps: DeliveryDeps, tx: Tx, attempt: Attempt, body: string): Promise<void> {
  const { installation, manifest, event, depth } = attempt
  if (!(await lockUnchanged(tx, installation))) return
  if (!(await passEvents(tx, installation, { from: installation.seq, to: event.seq }))) return
  const { publish: publications, fault } = readAnswer(body)
  const runId = newId(deps.random, 'mrn')
  const error = fault ?? (await publishAnswer(deps.clock, tx, { installation, manifest, runId, depth, publications }))
  await storeRun(deps, tx, attempt, { status: error === undefined ? 'done' : 'failed', error: error ?? null, runId })
}

type Failed = Failure & Readonly<{ restUntil: string | undefined }>

/** Returns true if the event was abandoned after 24 hours: it is a dead letter, and the next one follows. */
async function storeFailure(deps: DeliveryDeps, tx: Tx, attempt: Attempt, { reason, restUntil }: Failed): Promise<boolean> {
  const { installation, event, id } = attempt
  const { tenantId, moduleId, seq: from } = installation
  const now = isoNow(deps.clock)
  const failingSince = installation.failingSince ?? now
  const attempts = installation.attempt + 1
  if (Date.parse(now) - Date.parse(failingSince) < maxDeliveryMs) {
    const nextAt = restUntil ?? new Date(retryAt(attempts, Date.parse(now))).toISOString()
    await storeFailedAttempt(tx, installation, { from, attempt: attempts, nextAt, deliveryId: id, failingSince, error: reason })
    // One entry for the first attempt and one for the end: an hour without the service is not a hundred entries.
    if (attempts === 1) await storeRun(deps, tx, attempt, { status: 'failed', error: reason })
    return false
  }
  if (!(await passEvents(tx, installation, { from, to: event.seq }))) return false
  const letter = { seq: event.seq, event_type: event.eventType, attempts, error: reason.slice(0, 1000), created_at: now }
  await insertDeadLetter(tx, { id, tenant_id: tenantId, module_id: moduleId, ...letter })
  await storeRun(deps, tx, attempt, { status: 'dead', error: reason })
  return true
}

type Ended = Readonly<{ status: 'done' | 'failed' | 'dead' | 'loop'; error: string | null; runId?: string }>

/** Deliveries are listed among the runs of the module. */
const storeRun = ({ clock, random }: DeliveryDeps, tx: Tx, attempt: Attempt, { status, error, runId }: Ended): Promise<void> => {
  const { installation, event, id, depth, ms } = attempt
  const { tenantId, moduleId, version, generation } = installation
  return insertServiceRun(tx, {
    ...{ id: runId ?? newId(random, 'mrn'), tenant_id: tenantId, module_id: moduleId, version, generation, kind: 'event' },
    ...{
      event_type: event.eventType,
      cause: causeOf(event) ?? `evt_${event.seq}`,
      depth,
      delivery_id: id,
      attempt: installation.attempt + 1,
    },
    ...{ status, ms: Math.round(ms), interpreter_ms: 0, violations: '[]', error: error?.slice(0, 1000) ?? null, log: '[]' },
    created_at: isoNow(clock),
  })
}
