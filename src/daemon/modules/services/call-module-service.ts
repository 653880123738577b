import type { ServerResponse } from 'node:http'
import { isProblem, type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import { apiUrl, servicePath } from '../../../core/module-services/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import type { RawRequest, RawResponse } from '../../http/index.ts'
import type { ServicesDeps } from './deps.ts'

/** A call of a user below the `apiPrefix` of an active type B module. `signal`: aborts when the caller leaves or loses access. */
export type ModuleCall = Readonly<{ moduleId: string; actor: PlatformPrincipal; raw: RawRequest; signal: AbortSignal }>

type Deps = Pick<ServicesDeps, 'db' | 'clock' | 'baseUrl' | 'proxy' | 'signToken' | 'counts'>

/**
 * Forwards the call to the service, with a token that names the user instead of the session. Throws VALIDATION, CONFLICT without a service or
 * consent, and what the proxy throws.
 */
export async function callModuleService(deps: Deps, { moduleId, actor, raw, signal }: ModuleCall): Promise<RawResponse> {
  const path = servicePath(raw.rest)
  const { upstream, version } = await consentedUpstream(deps.db, { moduleId, tenantId: actor.tenantId })
  const { tenantId, userId, sessionId, roles } = actor
  const token = await deps.signToken({ moduleId, tenantId, userId, sessionId, roles })
  const { host, protocol } = new URL(deps.baseUrl)
  const headers = {
    authorization: `Bearer ${token}`,
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
    'x-forwarded-prefix': `/api/platform/v1/module-api/${moduleId}`,
  }
  raw.allowSlowBody()
  const url = apiUrl(upstream, path) + raw.search
  return (response) =>
    counted(deps, { tenantId, moduleId, version, response, signal }, () =>
      deps.proxy({ request: raw.request, response, moduleId, tenantId, url, headers, signal }),
    )
}

type Counted = Readonly<{ tenantId: string; moduleId: string; version: string; response: ServerResponse; signal: AbortSignal }>

/** Counts the request for the health of the module: an error of the service, or none. One that the platform refused, or whose caller left, does not count. */
async function counted({ counts, clock }: Deps, { response, signal, ...module }: Counted, proxied: () => Promise<void>): Promise<void> {
  const startedMs = clock.monotonicMs()
  const add = (status: 'done' | 'failed') =>
    counts.add({ clock }, { ...module, status, result: { ms: clock.monotonicMs() - startedMs, interpreterMs: 0, violations: [], log: [] } })
  try {
    await proxied()
  } catch (error) {
    if (isProblem(error, 'MODULE_SERVICE_FAILED')) add('failed')
    throw error
  }
  if (response.headersSent && !signal.aborted) add(response.statusCode < 500 && response.writableFinished ? 'done' : 'failed')
}

type Key = Readonly<{ moduleId: string; tenantId: string }>

/** The address of the service, if the tenant consented to its host. */
async function consentedUpstream(db: DbOrTx, { moduleId, tenantId }: Key): Promise<Readonly<{ upstream: string; version: string }>> {
  const row = await db
    .selectFrom('module_upstreams as service')
    .leftJoin('module_installations as one', (join) =>
      join.onRef('one.module_id', '=', 'service.module_id').on('one.tenant_id', '=', tenantId),
    )
    .select(['service.url', 'service.host', 'one.upstream_host', 'one.version'])
    .where('service.module_id', '=', moduleId)
    .executeTakeFirst()
  if (!row) throw problem('CONFLICT', `The module ${moduleId} has no service. fix: ask the operator of this platform to set its address`)
  if (row.upstream_host === row.host && row.version !== null) return { upstream: row.url, version: row.version }
  throw problem(
    'CONFLICT',
    `The service of ${moduleId} moved to ${row.host}, which this tenant did not consent to. fix: an administrator deactivates and activates the module`,
  )
}
