import { tenantsContract } from '../../core/tenants/index.ts'
import { type Served, serve } from '../http/index.ts'
import { changeTenant, type TenantsDeps } from './change-tenant.ts'
import { registerTenant } from './register-tenant.ts'
import { type FileUseOf, listTenants, showTenant } from './show-tenants.ts'
import { resumeTenant, suspendTenant } from './suspend-tenant.ts'

export const tenantsRoutes = (deps: TenantsDeps & Readonly<{ fileUseOf: FileUseOf }>): Served[] => [
  serve(tenantsContract.listTenants, ({ query }) => listTenants(deps, query)),
  serve(tenantsContract.createTenant, ({ actor, body }) => registerTenant(deps, actor, body)),
  serve(tenantsContract.showTenant, ({ params }) => showTenant(deps, params)),
  serve(tenantsContract.changeTenant, ({ actor, params, body }) => changeTenant(deps, actor, { ...params, ...body })),
  serve(tenantsContract.suspendTenant, ({ actor, params, body }) => suspendTenant(deps, actor, { ...params, ...body })),
  serve(tenantsContract.resumeTenant, ({ actor, params }) => resumeTenant(deps, actor, params)),
]
