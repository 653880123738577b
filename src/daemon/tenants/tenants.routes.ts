import { tenantsContract } from '../../core/tenants/index.ts'
import { type Served, serve } from '../http/index.ts'
import { changeTenant, type TenantsNeeds } from './change-tenant.ts'
import { registerTenant } from './register-tenant.ts'
import { type FileUseOf, listTenants, showTenant } from './show-tenants.ts'
import { resumeTenant, suspendTenant } from './suspend-tenant.ts'

export const tenantsRoutes = (needs: TenantsNeeds & Readonly<{ fileUseOf: FileUseOf }>): Served[] => [
  serve(tenantsContract.listTenants, ({ query }) => listTenants(needs, query)),
  serve(tenantsContract.createTenant, ({ actor, body }) => registerTenant(needs, actor, body)),
  serve(tenantsContract.showTenant, ({ params }) => showTenant(needs, params)),
  serve(tenantsContract.changeTenant, ({ actor, params, body }) => changeTenant(needs, actor, { ...params, ...body })),
  serve(tenantsContract.suspendTenant, ({ actor, params, body }) => suspendTenant(needs, actor, { ...params, ...body })),
  serve(tenantsContract.resumeTenant, ({ actor, params }) => resumeTenant(needs, actor, params)),
]
