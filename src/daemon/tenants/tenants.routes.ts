import { tenantsContract } from '../../core/tenants/index.ts'
import { serveContract } from '../http/index.ts'
import { changeTenant, resumeTenant, suspendTenant, type TenantsDeps } from './change-tenant.ts'
import { registerTenant } from './create-tenant.ts'
import { type FileUsageOf, listTenants, showTenant } from './show-tenants.ts'

export const tenantsRoutes = (deps: TenantsDeps & Readonly<{ fileUsageOf: FileUsageOf }>) =>
  serveContract(tenantsContract, {
    listTenants: ({ query }) => listTenants(deps, query),
    createTenant: ({ actor, body }) => registerTenant(deps, actor, body),
    showTenant: ({ params }) => showTenant(deps, params),
    changeTenant: ({ actor, params, body }) => changeTenant(deps, actor, { ...params, ...body }),
    suspendTenant: ({ actor, params, body }) => suspendTenant(deps, actor, { ...params, ...body }),
    resumeTenant: ({ actor, params }) => resumeTenant(deps, actor, params),
  })
