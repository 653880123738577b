import { type Plan, type TenantId, tierOf } from '../../core/boxes/index.ts'
import { type Clock, isoNow, newId, problem, type Random } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { insertTenant, type TenantRecord, tenantByChatDomain, tenantBySlug } from './tenants.repo.ts'

type Needs = Readonly<{ clock: Clock; random: Random }>
type NewTenant = Readonly<{ slug: string; name: string; plan: Plan; chatDomain: string }>

/** Registers a tenant in the transaction that makes its box. Throws ALREADY_EXISTS naming the tenant that has slug or domain. */
export async function createTenant({ clock, random }: Needs, tx: Tx, { slug, name, plan, chatDomain }: NewTenant): Promise<TenantRecord> {
  const sameSlug = await tenantBySlug(tx, slug)
  if (sameSlug) throw problem('ALREADY_EXISTS', `the slug ${slug} belongs to the tenant ${sameSlug.name}: choose another`)
  const sameDomain = await tenantByChatDomain(tx, chatDomain)
  if (sameDomain) throw problem('ALREADY_EXISTS', `the chat domain ${chatDomain} belongs to the tenant ${sameDomain.slug}: choose another`)
  const tenant: TenantRecord = {
    id: newId<TenantId>(random, 'ten'),
    slug,
    name,
    chatDomain,
    plan,
    tier: tierOf(plan),
    status: 'active',
    timeZone: null,
    maintenanceWindow: null,
    createdAt: isoNow(clock),
  }
  await insertTenant(tx, tenant)
  return tenant
}
