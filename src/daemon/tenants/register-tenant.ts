import { type Actor, problem } from '../../core/kit/index.ts'
import type { Tenant } from '../../core/tenants/index.ts'
import { recordAudit } from '../audit/index.ts'
import { isUniqueViolation } from '../db/index.ts'
import type { TenantsDeps } from './change-tenant.ts'
import { createTenant } from './create-tenant.ts'
import { tenantView } from './show-tenants.ts'

type Wanted = Parameters<typeof createTenant>[2]

/** A tenant before it has a box. Throws ALREADY_EXISTS naming who has slug or domain. */
export const registerTenant = (deps: TenantsDeps, actor: Actor, wanted: Wanted): Promise<Tenant> =>
  deps.db
    .transaction()
    .execute(async (tx) => {
      const tenant = await createTenant(deps, tx, wanted)
      const { name, plan, chatDomain } = tenant
      await recordAudit(tx, deps.clock, { actor, action: 'tenant.created', subject: tenant.slug, data: { name, plan, chatDomain } })
      return tenantView(deps, tx, tenant)
    })
    .catch((error) => {
      throw isUniqueViolation(error)
        ? problem('ALREADY_EXISTS', `another tenant took the slug ${wanted.slug} or the domain ${wanted.chatDomain} at the same moment`)
        : error
    })
