import { tenantsContract } from '../../core/tenants/index.ts'
import { type Served, serve } from '../http/index.ts'
import { changeTenant, existingTenant, type TenantsNeeds, tenantView } from './change-tenant.ts'
import { tenantsAfter } from './tenants.repo.ts'

export const tenantsRoutes = (needs: TenantsNeeds): Served[] => [
  serve(tenantsContract.listTenants, async ({ query: { plan, cursor, limit } }) => {
    const tenants = await tenantsAfter(needs.db, { plan, after: cursor, limit: limit + 1 })
    const page = tenants.slice(0, limit)
    return {
      tenants: page.map((tenant) => tenantView(needs, tenant)),
      nextCursor: tenants.length > limit ? (page.at(-1)?.slug ?? null) : null,
    }
  }),
  serve(tenantsContract.showTenant, async ({ params: { slug } }) => tenantView(needs, await existingTenant(needs.db, slug))),
  serve(tenantsContract.changeTenant, ({ actor, params, body }) => changeTenant(needs, actor, { ...params, ...body })),
]
