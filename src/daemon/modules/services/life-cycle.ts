import { alertKey } from '../../../core/alerts/index.ts'
import { isoNow, problem } from '../../../core/kit/index.ts'
import {
  type Failure,
  isUnreachable,
  type Message,
  maxDeleteMs,
  messageBody,
  messageId,
  retryAt,
} from '../../../core/module-services/index.ts'
import { raiseAlert } from '../../alerts/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../../db/index.ts'
import { tenantById } from '../../tenants/index.ts'
import type { InstallationChange, Preparation, Prepared } from '../deps.ts'
import { findInstallation, setRemote } from '../installations.repo.ts'
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
  /** The host to whose service the tenant consented: no other gets the call. */
  host: string
  since: string
  attempt: number
}>

/**
 * Asks the service to prepare for an installation, before the activation commits. To activate a module is to consent to the host of its service.
 * Throws CONFLICT without a service, MODULE_SERVICE_FAILED unless it answers 2xx within 10 s.
 */
export async function activateService(deps: ServicesDeps, { installation, manifest, permissions }: Preparation): Promise<Prepared> {
  const { tenantId, moduleId, generation, installedAt, dataGeneration, dataVersion, dataBytes } = installation
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
  // The documents of a former version stay as they are, for one that runs on this platform again.
  return { dataGeneration, dataBytes, dataVersion, remote: 'confirmed', upstreamHost: upstream.host }
}

/**
 * Queues messages to the service that the tenant activated, in the transaction of the change. No change waits for the service. A service that no
 * activation reached knows nothing of the tenant.
 */
export async function queueCalls({ clock }: Pick<ServicesDeps, 'clock'>, tx: Tx, change: InstallationChange): Promise<void> {
  const { former, installation, manifest } = change
  const { tenantId, moduleId, version, generation, installedAt } = installation
  const host = former?.upstreamHost ?? null
  if (host === null) return
  const isLeft = manifest.type === 'B' && former?.status === 'active' && installation.status !== 'active'
  // A former version of the module may have been of type B: what its service stores is deleted too.
  const isDeleted = installation.status === 'deleted'
  const types = [...(isLeft ? (['module.deactivate'] as const) : []), ...(isDeleted ? (['module.delete_data'] as const) : [])]
  if (types.length > 0) await setRemote(tx, installation, 'pending')
  const call = { tenantId, moduleId, version, generation, installedAt, host, since: isoNow(clock), attempt: 1 }
  for (const type of types) await enqueueCall({ tx, clock }, { ...call, type })
}

/**
 * Queues the deletion of what services store of a tenant that is being deleted; no row of the tenant needs to exist when they are called. It can be
 * repeated: a service gets the same message again.
 */
export const queueDataDeletion = ({ db, clock }: Pick<ServicesDeps, 'db' | 'clock'>, tenantId: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const rows = await tx
      .selectFrom('module_installations')
      .select(['module_id', 'version', 'generation', 'installed_at', 'upstream_host'])
      .where('tenant_id', '=', tenantId)
      .where('upstream_host', 'is not', null)
      .where('status', '!=', 'deleted')
      .execute()
    for (const { module_id: moduleId, version, generation, installed_at: installedAt, upstream_host } of rows) {
      const call = { type: 'module.delete_data', tenantId, moduleId, version, generation: generation + 1, installedAt, attempt: 1 } as const
      await enqueueCall({ tx, clock }, { ...call, host: upstream_host as string, since: isoNow(clock) })
    }
  })

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
    if (!installation && type === 'module.deactivate') return
    // Activated again: the service is in use, and what it stores is current.
    if (installation?.status === 'active' && (await tenantById(deps.db, tenantId))?.status !== 'deleting') return
    const upstream = await findUpstream(deps.db, moduleId)
    // While it is away, the calls of all its tenants would each occupy a worker until they time out.
    if (upstream?.restUntil && upstream.restUntil > isoNow(deps.clock))
      return deps.db.transaction().execute((tx) => enqueueCall({ tx, clock: deps.clock }, call, upstream.restUntil ?? undefined))
    const id = messageId(tenantId, moduleId, generation, type)
    const message: Message = { type, at: since, tenantId, moduleId, version, payload: { installedAt, generation } }
    const failure = withoutConsent(upstream, call) ?? (await send(deps, upstream as Upstream, { id, message, timeoutMs: callMs, signal }))
    if (signal?.aborted && failure) throw new Error('stopped while the service was called')
    await deps.db.transaction().execute(async (tx) => {
      if (!failure && installation?.generation === generation) await setRemote(tx, { ...call }, 'confirmed')
      if (failure) await retryCall(deps, tx, { call, failure })
    })
  }

/** The data is at the host of the activation: another one learns nothing of the tenant, and the call waits for that host to be set again. */
function withoutConsent(upstream: Upstream | undefined, { host }: Call): Failure | undefined {
  if (!upstream) return { status: null, reason: 'no service is set' }
  if (upstream.host === host) return undefined
  return { status: null, reason: `the service is at ${upstream.host} now, and the tenant consented to ${host} alone` }
}

async function retryCall({ clock }: ServicesDeps, tx: Tx, { call, failure }: Readonly<{ call: Call; failure: Failure }>): Promise<void> {
  const nowMs = clock.now().getTime()
  const { attempt, type, moduleId, tenantId, since } = call
  if (nowMs - Date.parse(since) < maxDeleteMs)
    return enqueueCall({ tx, clock }, { ...call, attempt: attempt + 1 }, new Date(retryAt(attempt, nowMs)).toISOString())
  if (type !== 'module.delete_data') return
  const slug = (await tenantById(tx, tenantId))?.slug ?? tenantId
  await raiseAlert(tx, clock, {
    kind: 'module_failed',
    key: alertKey('module_failed', `data:${slug}/${moduleId}`),
    subject: `${slug}/${moduleId}`,
    title: `The service of ${moduleId} still has data of ${slug}`,
    body:
      `${slug} uninstalled ${moduleId}, and for 30 days its service did not confirm that it deleted the data of this tenant. Last attempt: ${failure.reason}. ` +
      'It is not asked again. The data on this platform is deleted.\n' +
      'Ask the operator of the service, whom the manifest of the module names, to delete the data and to confirm it.',
    command: `tenantry modules upstream ${moduleId}`,
  })
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
