import { alertOf } from '../../core/alerts/index.ts'
import { isoNow, problem } from '../../core/kit/index.ts'
import {
  type Failure,
  isUnreachable,
  type Message,
  maxDeleteMs,
  messageBody,
  messageId,
  retryAt,
} from '../../core/module-services/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { findInstallation, type InstallationChange, type Preparation, type Prepared, setRemote } from '../modules/index.ts'
import { tenantById } from '../tenants/index.ts'
import type { ServicesDeps } from './deps.ts'
import { findUpstream, openSecret, recordAnswer, recordNoAnswer, type Upstream } from './upstreams.repo.ts'

const activateMs = 10_000
const callMs = 10_000

/** Job: a life-cycle message to a service. */
export const callTopic = 'module-service.call'

type Call = Readonly<{
  type: 'module.deactivate' | 'module.delete_data'
  tenantId: string
  moduleId: string
  version: string
  /** The generation of the installation: the call belongs to this change only while it is the same. */
  generation: number
  /** When the installation was made; a later one has its own data. */
  installedAt: string
  since: string
  attempt: number
}>

/**
 * Asks the service to prepare for an installation, before the activation commits. To activate a module is to consent to the host of its service.
 * Throws CONFLICT without a service, MODULE_SERVICE_FAILED unless it answers 2xx within 10 s.
 */
export async function activateService(deps: ServicesDeps, { installation, manifest, permissions }: Preparation): Promise<Prepared> {
  const { tenantId, moduleId, generation, installedAt, dataGeneration, dataBytes } = installation
  const upstream = await findUpstream(deps.db, moduleId)
  if (!upstream)
    throw problem('CONFLICT', `The module ${moduleId} has no service yet. fix: ask the operator of this platform to set its address`)
  const id = messageId(tenantId, moduleId, generation, 'module.activate')
  const message = { type: 'module.activate', at: isoNow(deps.clock), tenantId, moduleId, version: manifest.version }
  const failure = await send(deps, upstream, {
    id,
    message: { ...message, permissions, payload: { installedAt, generation } },
    timeoutMs: activateMs,
  })
  if (failure) throw problem('MODULE_SERVICE_FAILED', `${moduleId} was not activated: ${failure.reason}. fix: try again later`)
  return { dataGeneration, dataBytes, dataVersion: manifest.dataVersion, remote: 'confirmed', upstreamHost: upstream.host }
}

/** Queues messages to the service, in the transaction of the change. No change waits for the service. */
export async function queueCalls({ clock }: Pick<ServicesDeps, 'clock'>, tx: Tx, change: InstallationChange): Promise<void> {
  const { former, installation, manifest } = change
  if (manifest.type !== 'B') return
  const { tenantId, moduleId, version, generation, installedAt } = installation
  const types = [
    ...(former?.status === 'active' && installation.status !== 'active' ? (['module.deactivate'] as const) : []),
    ...(installation.status === 'deleted' ? (['module.delete_data'] as const) : []),
  ]
  if (types.length > 0) await setRemote(tx, installation, 'pending')
  const call = { tenantId, moduleId, version, generation, installedAt, since: isoNow(clock), attempt: 1 }
  for (const type of types) await enqueueCall({ tx, clock }, { ...call, type })
}

/** One queue per service, so that no service delays another. */
const enqueueCall = ({ tx, clock }: Readonly<{ tx: Tx; clock: ServicesDeps['clock'] }>, call: Call, runAt?: string): Promise<void> => {
  const queue = { pool: 'mail', queue: `module:${call.moduleId}`, key: `${call.tenantId}/${call.moduleId}` } as const
  return enqueueJob(tx, clock, { topic: callTopic, payload: call, ...queue, ...(runAt ? { runAt } : {}) })
}

/** Sends a queued message, or queues its next attempt: the queue itself abandons a job after two hours. */
export const callHandler =
  (deps: ServicesDeps): JobHandler =>
  async (payload, { signal }) => {
    const call = payload as Call
    const { type, tenantId, moduleId, version, generation, installedAt, since } = call
    const installation = await findInstallation(deps.db, call)
    // Activated again: the service is in use, and what it stores is current.
    if (!installation || installation.status === 'active') return
    const upstream = await findUpstream(deps.db, moduleId)
    const id = messageId(tenantId, moduleId, generation, type)
    const message: Message = { type, at: since, tenantId, moduleId, version, payload: { installedAt, generation } }
    const failure = upstream
      ? await send(deps, upstream, { id, message, timeoutMs: callMs, signal })
      : { status: null, reason: 'no service is set' }
    if (signal?.aborted && failure) throw new Error('stopped while the service was called')
    await deps.db.transaction().execute(async (tx) => {
      if (!failure && installation.generation === generation) await setRemote(tx, { ...call }, 'confirmed')
      if (failure) await retryCall(deps, tx, { call, failure })
    })
  }

async function retryCall({ clock }: ServicesDeps, tx: Tx, { call, failure }: Readonly<{ call: Call; failure: Failure }>): Promise<void> {
  const nowMs = clock.now().getTime()
  const { attempt, type, moduleId, tenantId, since } = call
  if (nowMs - Date.parse(since) < maxDeleteMs)
    return enqueueCall({ tx, clock }, { ...call, attempt: attempt + 1 }, new Date(retryAt(attempt, nowMs)).toISOString())
  if (type !== 'module.delete_data') return
  const slug = (await tenantById(tx, tenantId))?.slug ?? tenantId
  await raiseAlert(tx, clock, alertOf.module_data_not_deleted({ slug, moduleId, reason: failure.reason }))
}

type Sent = Readonly<{ id: string; message: Message; timeoutMs: number; signal?: AbortSignal | undefined }>

/** Returns why the message was not delivered; undefined if it was. */
async function send(deps: ServicesDeps, upstream: Upstream, { id, message, timeoutMs, signal }: Sent): Promise<Failure | undefined> {
  const secret = openSecret(deps.keyring, upstream).reveal()
  const body = messageBody(id, message)
  const { tenantId, moduleId } = message
  const answer = await deps.call({
    ...{ upstream: upstream.url, tenantId, moduleId, secret, id, body },
    ...{ at: deps.clock.now(), timeoutMs, signal },
  })
  if (answer.ok) {
    if (upstream.failures > 0) await recordAnswer(deps.db, upstream.moduleId)
    return undefined
  }
  if (isUnreachable(answer.failure) && !signal?.aborted) await recordNoAnswer(deps, upstream)
  return answer.failure
}
