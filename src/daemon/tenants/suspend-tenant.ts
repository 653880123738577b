import { type Actor, isoNow } from '../../core/kit/index.ts'
import type { Tenant } from '../../core/tenants/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { lockedTenant, type TenantsDeps } from './change-tenant.ts'
import { existingTenant, tenantView } from './show-tenants.ts'
import { setStatus, type TenantRecord } from './tenants.repo.ts'

type Suspension = Readonly<{ slug: string; reason: string }>

/** Its users' logins and tokens are refused within a second; their sessions rest. Box and chat run on. Throws NOT_FOUND. */
export const suspendTenant = (deps: TenantsDeps, actor: Actor, { slug, reason }: Suspension): Promise<Tenant> =>
  toStatus(deps, actor, slug, { status: 'suspended', suspendedReason: reason })

/** Its users are let in again, with the sessions that they had. Throws NOT_FOUND. */
export const resumeTenant = (deps: TenantsDeps, actor: Actor, { slug }: Readonly<{ slug: string }>): Promise<Tenant> =>
  toStatus(deps, actor, slug, { status: 'active', suspendedReason: null })

type Status = Pick<TenantRecord, 'status' | 'suspendedReason'>

const toStatus = (deps: TenantsDeps, actor: Actor, slug: string, to: Status): Promise<Tenant> =>
  deps.db.transaction().execute(async (tx) => {
    const { id, status } = await lockedTenant(tx, slug)
    if (status !== to.status) {
      await setStatus(tx, id, isoNow(deps.clock), to)
      await publishRevocation(tx, deps.clock, { kind: 'tenant', subject: id })
      const action = to.status === 'suspended' ? 'tenant.suspended' : 'tenant.resumed'
      const data = to.suspendedReason === null ? {} : { reason: to.suspendedReason }
      await recordAudit(tx, deps.clock, { actor, action, subject: slug, data })
    }
    return tenantView(deps, tx, await existingTenant(tx, slug))
  })
