import { automationContract } from '../../core/automation/index.ts'
import { type Problem, problem } from '../../core/kit/index.ts'
import { tenantSuspended } from '../../core/tenants/index.ts'
import type { Logger } from '../../node/index.ts'
import { type TenantOfCall, trustOf } from '../http/index.ts'
import { type TenantRecord, tenantByChatDomain, tenantById, tenantBySlug } from '../tenants/index.ts'
import type { StoreDeps } from './deps.ts'
import { type ValidKey, validKey } from './keys.ts'

type Rules = Readonly<{ requireKey: boolean; networks: readonly string[] }>
type AuthDeps = StoreDeps & Readonly<{ log: Logger; automation: Rules }>

/**
 * Checks network and key of an automation tool before the body is read, then the tenant that the call names. A key gets the same answer for a
 * tenant that does not exist and one that it is not valid for.
 */
export function authenticateAutomation(deps: AuthDeps) {
  const { requireKey, networks } = deps.automation
  const isInside = networks.length === 0 ? () => true : trustOf(networks)
  if (!requireKey)
    deps.log.warn('automation.requireKey is false: every caller that reaches this daemon may use the automation API for every tenant')
  return async (key: string | undefined, address: string | undefined): Promise<TenantOfCall> => {
    if (!isInside(address ?? '')) throw problem('FORBIDDEN', 'Automation calls are not accepted from this address (automation.networks).')
    if (key === undefined && requireKey)
      throw problem('UNAUTHENTICATED', 'X-Automation-Key is missing. fix: an operator creates one with `tenantry automation keys create`')
    const valid = key === undefined ? undefined : await validKey(deps, key)
    if (key !== undefined && !valid) throw problem('UNAUTHENTICATED', 'X-Automation-Key is unknown, revoked or expired.')
    return (named, path) => tenantFor(deps, valid, { named, isLookup: path === lookup })
  }
}

const tenantBy = { tenantId: tenantById, slug: tenantBySlug, chatDomain: tenantByChatDomain } as const
const lookup = automationContract.findTenant.path

type OfCall = Readonly<{ named: Readonly<Record<string, unknown>>; isLookup: boolean }>

async function tenantFor({ db }: StoreDeps, key: ValidKey | undefined, { named, isLookup }: OfCall) {
  const [[selector, value] = [], ...more] = Object.entries(named).filter(([name]) => Object.hasOwn(tenantBy, name))
  if (more.length > 0)
    throw noTenantNamed(
      'tenantId',
      isLookup ? 'pass exactly one of tenantId, slug, chatDomain' : 'pass it alone, without slug and chatDomain',
    )
  if (isLookup && selector === undefined) return actorOf(await onlyTenantOf(db, key), key)
  if (selector === undefined || (!isLookup && selector !== 'tenantId')) throw noTenantNamed('tenantId', 'is missing')
  // Checked before the database sees it: the contract parses the call only after its tenant is known.
  if (typeof value !== 'string' || !/^[!-~]{1,253}$/.test(value)) throw noTenantNamed(selector, reasonOf[selector])
  const tenant = await tenantBy[selector as keyof typeof tenantBy](db, value)
  if (!tenant || (key && !key.tenantIds.has(tenant.id))) throw notThisTenant(key)
  return actorOf(assertActive(tenant), key)
}

/** A key of one tenant need not name it to look it up. Throws VALIDATION for any other caller. */
async function onlyTenantOf(db: StoreDeps['db'], key: ValidKey | undefined): Promise<TenantRecord> {
  const [id, ...others] = key?.tenantIds ?? []
  if (id === undefined || others.length > 0)
    throw noTenantNamed('tenantId', 'is missing: a key of several tenants names one by tenantId, slug or chatDomain')
  const tenant = await tenantById(db, id)
  if (!tenant) throw notThisTenant(key)
  return assertActive(tenant)
}

function assertActive(tenant: TenantRecord): TenantRecord {
  if (tenant.status === 'active') return tenant
  if (tenant.status === 'suspended') throw tenantSuspended(tenant)
  throw problem('FORBIDDEN', `Tenant ${tenant.slug} is ${tenant.status}.`)
}

const actorOf = ({ id, slug, chatDomain }: TenantRecord, key: ValidKey | undefined) => ({
  ...{ kind: 'automation' as const, keyId: key?.id ?? null, name: key?.name ?? 'without-key' },
  ...{ tenantId: id, tenantSlug: slug, chatDomain },
})

const reasonOf: Readonly<Record<string, string>> = {
  tenantId: 'must be the id of a tenant',
  slug: 'must be the slug of a tenant',
  chatDomain: 'must be the chat domain of a tenant',
}

const noTenantNamed = (path: string, reason = 'must name a tenant'): Problem =>
  problem('VALIDATION', `${path}: ${reason}`, { details: [{ path, reason }] })

const notThisTenant = (key: ValidKey | undefined) =>
  problem('FORBIDDEN', key ? `The automation key ${key.name} is not valid for this tenant.` : 'There is no such tenant.')
