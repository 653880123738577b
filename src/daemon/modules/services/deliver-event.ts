import { causeOf, maxDepth } from '../../../core/boards/index.ts'
import { isoNow, newId } from '../../../core/kit/index.ts'
import {
  type Failure,
  isUnreachable,
  maxDeliveryMs,
  messageBody,
  messageId,
  type Publication,
  readAnswer,
  retryAt,
} from '../../../core/module-services/index.ts'
import { type ModuleManifest, maxPayloadBytes, type Permission, type Violation } from '../../../core/modules/index.ts'
import { eventsAfter, headOf, holdLease, type Lease, type StoredEvent, type Tx, type WithTx } from '../../db/index.ts'
import { streamOf } from '../../events/index.ts'
import { depthAfter } from '../../flows/index.ts'
import { findSpace } from '../../spaces/index.ts'
import { firstHeard, lastSkipped, shownPayload, skipEvents } from '../heard-events.ts'
import type { InstallationRecord } from '../installations.repo.ts'
import { failDelivery, findPosition, movePosition, type Position } from '../positions.repo.ts'
import { publishModuleEvents } from '../publish-events.ts'
import { lockRunnable, runnableInstallation } from '../runnable.ts'
import { insertDeadLetter, insertRun, type NewRun } from '../runs.repo.ts'
import type { ServicesDeps } from './deps.ts'
import { openSecret, recordAnswer, recordNoAnswer, type Upstream } from './upstreams.repo.ts'

const deliveryMs = 10_000
const pageSize = 100

export type DeliveryDeps = Pick<ServicesDeps, 'db' | 'clock' | 'random' | 'log' | 'keyring' | 'owner' | 'call' | 'manifestOf' | 'counts'>

/** `more`: the next event may follow at once. `wait`: nothing is due. `away`: the service does not answer, so no other installation is tried. */
export type Delivered = 'more' | 'wait' | 'away'

/** An installation of a service. The lease belongs to the process that delivers for this service. */
export type Recipient = Readonly<{ tenantId: string; upstream: Upstream; lease: Lease; signal: AbortSignal }>

/** Sends the next event of an installation and stores what became of it. */
export async function deliverNext(deps: DeliveryDeps, recipient: Recipient): Promise<Delivered> {
  const { db, clock } = deps
  const { tenantId, upstream, lease } = recipient
  const key = { tenantId, moduleId: upstream.moduleId }
  const installation = await runnableInstallation(db, clock, key)
  const position = installation && (await findPosition(db, key))
  const manifest = installation && (await deps.manifestOf(db, installation.moduleId, installation.version))
  // A tenant whose version is of type A has its own deliveries; the host of a former version stays, because data is deleted there.
  if (!installation || !position || manifest?.type !== 'B') return 'wait'
  const head = await headOf(db, streamOf(tenantId))
  if (position.seq >= head) return 'wait'
  const page = await eventsAfter(db, { stream: streamOf(tenantId), after: position.seq, limit: pageSize })
  const to = lastSkipped(clock, { after: position.seq, oldest: page[0], head })
  if (to !== undefined) {
    await underLease(deps, lease, (tx) => skipEvents(tx, clock, { ...key, from: position.seq, to }))
    return 'more'
  }
  const event = await firstHeard(db, { installation, manifest, page })
  if (event) return deliver(deps, recipient, { installation, position, manifest, event })
  const { seq } = page.at(-1) as StoredEvent
  await underLease(deps, lease, async (tx) => void (await movePosition(tx, key, { from: position.seq, to: seq })))
  return 'more'
}

const underLease = <Result>({ db }: Pick<DeliveryDeps, 'db'>, lease: Lease, work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    return work(tx)
  })

type Delivery = Readonly<{ installation: InstallationRecord; position: Position; manifest: ModuleManifest; event: StoredEvent }>
/** `ms`: duration of the call. */
type Attempt = Delivery & Readonly<{ id: string; runId: string; depth: number; ms: number }>

async function deliver(deps: DeliveryDeps, { upstream, lease, signal }: Recipient, delivery: Delivery): Promise<Delivered> {
  const { db, clock } = deps
  const { installation, event } = delivery
  const { tenantId, moduleId, version } = installation
  const { seq, eventType: type, createdAt: at } = event
  const id = messageId(tenantId, moduleId, seq)
  const depth = await db.transaction().execute((tx) => depthAfter(tx, { tenantId, event }))
  const begun = { ...delivery, id, runId: newId(deps.random, 'mrn'), depth }
  if (depth > maxDepth) return stopLoop(deps, lease, { ...begun, ms: 0 })
  const startedMs = clock.monotonicMs()
  const answer = await deps.call({
    ...{ upstream: upstream.url, tenantId, moduleId, secret: openSecret(deps.keyring, upstream).reveal(), id },
    body: messageBody(id, { type, at, tenantId, moduleId, version, payload: shownPayload(event), seq }),
    ...{ at: clock.now(), timeoutMs: deliveryMs, signal },
  })
  const attempt: Attempt = { ...begun, ms: clock.monotonicMs() - startedMs }
  if (answer.ok) {
    const run = await underLease(deps, lease, (tx) => storeDelivered({ ...deps, tx }, attempt, answer.body))
    if (run) deps.counts.add(deps, run)
    if (upstream.failures > 0) await recordAnswer(db, moduleId)
    return 'more'
  }
  // The process stops: it is unknown whether the service took the event, which is sent again under the same id.
  if (signal.aborted) return 'wait'
  const isAway = isUnreachable(answer.failure)
  const restUntil = isAway ? await recordNoAnswer(deps, upstream) : undefined
  const isDead = await underLease(deps, lease, (tx) => storeFailure({ ...deps, tx }, attempt, { ...answer.failure, restUntil }))
  deps.counts.add(deps, runOf(deps, attempt, failedBy('failed', answer.failure)))
  if (isAway) return 'away'
  return isDead ? 'more' : 'wait'
}

/** A chain of modules and boards that start each other ends here. */
const stopLoop = (deps: DeliveryDeps, lease: Lease, attempt: Attempt) =>
  underLease<Delivered>(deps, lease, async (tx) => {
    const { installation, position, event } = attempt
    const error = `LOOP: ${maxDepth} runs of modules and boards led to this event, one after the other`
    if (await movePosition(tx, installation, { from: position.seq, to: event.seq }))
      await insertRun(tx, runOf(deps, attempt, { status: 'loop', error }))
    return 'more'
  })

/**
 * The events that the service publishes and the position commit together: after a crash before it, the event is sent again under the same id. If the
 * installation changed meanwhile, the answer is dropped, and the next attempt decides again. Returns the run that was stored.
 */
async function storeDelivered(deps: WithTx<DeliveryDeps>, attempt: Attempt, body: string): Promise<NewRun | undefined> {
  const { tx } = deps
  const { installation, position, manifest, event, depth, runId } = attempt
  const { tenantId, moduleId } = installation
  if (!(await lockRunnable(tx, deps.clock, installation))) return undefined
  if (!(await movePosition(tx, installation, { from: position.seq, to: event.seq }))) return undefined
  const { publish: published, fault } = readAnswer(body)
  const publications = { run: { id: runId, tenantId, moduleId, depth }, manifest, published }
  const refused =
    fault === undefined ? await whyNotPublished(deps, tx, { ...publications, permissions: installation.permissions }) : { reason: fault }
  const run = runOf(deps, attempt, refused ? failedBy('failed', refused) : { status: 'done', error: null })
  await insertRun(tx, run)
  return run
}

type Failed = Failure & Readonly<{ restUntil: string | undefined }>

/** Returns true if the event was abandoned after 24 hours: it is a dead letter, and the next one follows. */
async function storeFailure(deps: WithTx<DeliveryDeps>, attempt: Attempt, failure: Failed): Promise<boolean> {
  const { tx } = deps
  const { installation, position, event, id } = attempt
  const { tenantId, moduleId } = installation
  const { reason: error, restUntil } = failure
  const now = isoNow(deps.clock)
  const failingSince = position.failingSince ?? now
  const attempts = position.attempt + 1
  const from = position.seq
  if (Date.parse(now) - Date.parse(failingSince) < maxDeliveryMs) {
    const nextAt = restUntil ?? new Date(retryAt(attempts, Date.parse(now))).toISOString()
    if (!(await failDelivery(tx, installation, { from, attempt: attempts, nextAt, deliveryId: id, failingSince, error }))) return false
    // One entry for the first attempt and one for the end: an hour without the service is not a hundred entries.
    if (attempts === 1) await insertRun(tx, runOf(deps, attempt, failedBy('failed', failure)))
    return false
  }
  if (!(await movePosition(tx, installation, { from, to: event.seq }))) return false
  const letter = { seq: event.seq, event_type: event.eventType, attempts, error: error.slice(0, 1000), created_at: now }
  await insertDeadLetter(tx, { id, tenant_id: tenantId, module_id: moduleId, ...letter })
  await insertRun(tx, runOf(deps, attempt, failedBy('dead', failure)))
  return true
}

type Ended = Readonly<{ status: 'done' | 'failed' | 'dead' | 'loop'; error: string | null; violations?: readonly Violation[] }>

const failedBy = (status: 'failed' | 'dead', { reason, violation }: Pick<Failure, 'reason' | 'violation'>): Ended => ({
  ...{ status, error: reason },
  violations: violation === undefined ? [] : [{ kind: violation, message: reason }],
})

/** Deliveries are listed among the runs of the module, and count for its health. */
const runOf = ({ clock }: DeliveryDeps, attempt: Attempt, { status, error, violations = [] }: Ended): NewRun => {
  const { installation, position, event, id, runId, depth, ms } = attempt
  const { tenantId, moduleId, version, generation } = installation
  return {
    ...{ id: runId, tenantId, moduleId, version, generation, kind: 'event', eventType: event.eventType },
    ...{ cause: causeOf(event) ?? `evt_${event.seq}`, depth, deliveryId: id, attempt: position.attempt + 1 },
    ...{ status, error, result: { ms, interpreterMs: 0, violations, log: [] }, createdAt: isoNow(clock) },
  }
}

type Answered = Readonly<{
  run: Readonly<{ id: string; tenantId: string; moduleId: string; depth: number }>
  manifest: ModuleManifest
  permissions: readonly Permission[]
  published: readonly Publication[]
}>

type Refused = Pick<Failure, 'reason' | 'violation'>

/**
 * Stores what a service publishes in its answer, all or nothing. Returns why nothing was stored. The event that it answered stays delivered: the
 * answer to a repetition would be the same.
 */
async function whyNotPublished({ clock }: Pick<ServicesDeps, 'clock'>, tx: Tx, answered: Answered): Promise<Refused | undefined> {
  const { run, manifest, permissions, published } = answered
  if (published.length === 0) return undefined
  if (!permissions.includes('events:publish'))
    return { reason: 'publish needs the permission events:publish, which is not approved', violation: 'permission' }
  const declared = new Set(manifest.events.publishes.map(({ name }) => name))
  for (const { name, payload, spaceId } of published) {
    if (!declared.has(name)) return { reason: `publish: the manifest does not declare the event ${name}` }
    if (Buffer.byteLength(JSON.stringify(payload)) > maxPayloadBytes)
      return { reason: `publish: the payload of ${name} has more than 16 KB` }
    if (spaceId !== undefined && !(await findSpace(tx, { tenantId: run.tenantId, spaceId })))
      return { reason: `publish: there is no space ${spaceId}` }
  }
  const reason = await publishModuleEvents(clock, tx, { run, manifest, published })
  return reason === undefined ? undefined : { reason: `publish: ${reason}`, violation: 'publishes' }
}
