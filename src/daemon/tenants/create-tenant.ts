import { isReservedSlug, type Plan, tierOf } from '../../core/boxes/index.ts'
import { type Actor, type Clock, isoNow, newId, problem, type Random, type TenantId } from '../../core/kit/index.ts'
import type { Tenant } from '../../core/tenants/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { isUniqueViolation, type Tx } from '../db/index.ts'
import type { TenantsDeps } from './change-tenant.ts'
import { tenantView } from './show-tenants.ts'
import { insertTenant, type TenantRecord, tenantByChatDomain, tenantBySlug } from './tenants.repo.ts'

type Deps = Readonly<{ clock: Clock; random: Random }>
type NewTenant = Readonly<{
  slug: string
  name: string
  plan: Plan
  chatDomain: string
  schoolId?: string | undefined
  orgId?: string | undefined
}>

/**
 * Creates a tenant in the transaction that creates its box. Throws ALREADY_EXISTS naming the tenant that has slug or domain; VALIDATION for a slug
 * that is a word of URL paths.
 */
export async function createTenant({ clock, random }: Deps, tx: Tx, input: NewTenant): Promise<TenantRecord> {
  const { slug, name, plan, chatDomain, schoolId, orgId } = input
  const sameSlug = await tenantBySlug(tx, slug)
  if (sameSlug) throw problem('ALREADY_EXISTS', `Slug ${slug} belongs to the tenant ${sameSlug.name}. fix: choose another`)
  if (isReservedSlug(slug)) throw reservedSlug(slug)
  const sameDomain = await tenantByChatDomain(tx, chatDomain)
  if (sameDomain) throw problem('ALREADY_EXISTS', `Chat domain ${chatDomain} belongs to the tenant ${sameDomain.slug}. fix: choose another`)
  const id = newId<TenantId>(random, 'ten')
  const tenant: TenantRecord = {
    id,
    slug,
    name,
    chatDomain,
    plan,
    tier: tierOf(plan),
    status: 'active',
    suspendedReason: null,
    suspendedCause: null,
    resumedUntil: null,
    schoolId: schoolId ?? id,
    orgId: orgId ?? id,
    branding: { tenantName: name, color: null, logoId: null },
    featureFlags: {},
    paymentCustomerId: null,
    billingEmail: null,
    timeZone: null,
    maintenanceWindow: null,
    createdAt: isoNow(clock),
  }
  await insertTenant(tx, tenant)
  // Replicas allow requests from web pages of its domain.
  await publishRevocation(tx, clock, { kind: 'tenant', subject: id })
  return tenant
}

function reservedSlug(slug: string) {
  const reason = `${slug} is reserved. fix: choose another`
  return problem('VALIDATION', `slug: ${reason}`, { details: [{ path: 'slug', reason }] })
}

type Registration = Parameters<typeof createTenant>[2]

/** Creates a tenant without a box. Throws ALREADY_EXISTS naming the tenant that has slug or domain. */
export const registerTenant = (deps: TenantsDeps, actor: Actor, input: Registration): Promise<Tenant> =>
  deps.db
    .transaction()
    .execute(async (tx) => {
      const tenant = await createTenant(deps, tx, input)
      const { name, plan, chatDomain } = tenant
      await recordAudit(tx, deps.clock, { actor, action: 'tenant.created', subject: tenant.slug, data: { name, plan, chatDomain } })
      return tenantView(deps, tx, tenant)
    })
    .catch((error) => {
      throw isUniqueViolation(error)
        ? problem('ALREADY_EXISTS', `Slug ${input.slug} or chat domain ${input.chatDomain} was taken by a concurrent request`)
        : error
    })

/** Deletes the last row of a tenant. Replicas stop allowing its domain. */
export async function deleteTenant({ clock }: Readonly<{ clock: Clock }>, tx: Tx, id: TenantId): Promise<void> {
  await tx.deleteFrom('tenants').where('id', '=', id).execute()
  await publishRevocation(tx, clock, { kind: 'tenant', subject: id })
}
