import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { apiUrl, servicePath } from '../../core/module-services/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { RawRequest, RawResponse } from '../http/index.ts'
import type { ServicesDeps } from './deps.ts'

/** A call of a user below the `apiPrefix` of an active type B module. `signal`: aborts when the caller leaves or loses access. */
export type ModuleCall = Readonly<{ moduleId: string; actor: PlatformPrincipal; raw: RawRequest; signal: AbortSignal }>

type Deps = Pick<ServicesDeps, 'db' | 'baseUrl' | 'proxy' | 'signToken'>

/**
 * Forwards the call to the service, with a token that names the user instead of the session. Throws VALIDATION, CONFLICT without a service or
 * consent, and what the proxy throws.
 */
export async function callModuleService(deps: Deps, { moduleId, actor, raw, signal }: ModuleCall): Promise<RawResponse> {
  const path = servicePath(raw.rest)
  const upstream = await consentedUpstream(deps.db, { moduleId, tenantId: actor.tenantId })
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
  return (response) => deps.proxy({ request: raw.request, response, moduleId, url, headers, signal })
}

type Key = Readonly<{ moduleId: string; tenantId: string }>

/** The address of the service, if the tenant consented to its host. */
async function consentedUpstream(db: DbOrTx, { moduleId, tenantId }: Key): Promise<string> {
  const row = await db
    .selectFrom('module_upstreams as service')
    .leftJoin('module_installations as one', (join) =>
      join.onRef('one.module_id', '=', 'service.module_id').on('one.tenant_id', '=', tenantId),
    )
    .select(['service.url', 'service.host', 'one.upstream_host'])
    .where('service.module_id', '=', moduleId)
    .executeTakeFirst()
  if (!row) throw problem('CONFLICT', `The module ${moduleId} has no service. fix: ask the operator of this platform to set its address`)
  if (row.upstream_host === row.host) return row.url
  throw problem(
    'CONFLICT',
    `The service of ${moduleId} moved to ${row.host}, which this tenant did not consent to. fix: an administrator deactivates and activates the module`,
  )
}
