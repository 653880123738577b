import { isReservedSlug, type Plan, tierOf } from '../../core/boxes/index.ts'
import { type Clock, isoNow, newId, problem, type Random, type TenantId } from '../../core/kit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import type { Tx } from '../db/index.ts'
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

/** Registers a tenant in the transaction that makes its box. Throws ALREADY_EXISTS naming the tenant that has slug or domain; VALIDATION for a word of paths. */
export async function createTenant({ clock, random }: Deps, tx: Tx, wanted: NewTenant): Promise<TenantRecord> {
  const { slug, name, plan, chatDomain, schoolId, orgId } = wanted
  const sameSlug = await tenantBySlug(tx, slug)
  if (sameSlug) throw problem('ALREADY_EXISTS', `the slug ${slug} belongs to the tenant ${sameSlug.name}: choose another`)
  if (isReservedSlug(slug)) throw notFree(slug)
  const sameDomain = await tenantByChatDomain(tx, chatDomain)
  if (sameDomain) throw problem('ALREADY_EXISTS', `the chat domain ${chatDomain} belongs to the tenant ${sameDomain.slug}: choose another`)
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
    schoolId: schoolId ?? id,
    orgId: orgId ?? id,
    branding: { tenantName: name },
    featureFlags: {},
    paymentCustomerId: null,
    timeZone: null,
    maintenanceWindow: null,
    createdAt: isoNow(clock),
  }
  await insertTenant(tx, tenant)
  // Its domain is one that replicas let web pages of in.
  await publishRevocation(tx, clock, { kind: 'tenant', subject: id })
  return tenant
}

function notFree(slug: string) {
  const reason = `${slug} is a word of the interface: choose another`
  return problem('VALIDATION', `slug: ${reason}`, { details: [{ path: 'slug', reason }] })
}
