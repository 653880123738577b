import { problem } from '../../core/kit/index.ts'
import { tenantsContract } from '../../core/tenants/index.ts'
import type { Db } from '../db/index.ts'
import { type Served, serve } from '../http/index.ts'
import { tenantBySlug, tenantsAfter } from './tenants.repo.ts'

export type TenantsNeeds = Readonly<{ db: Db }>

export const tenantsRoutes = ({ db }: TenantsNeeds): Served[] => [
  serve(tenantsContract.listTenants, async ({ query: { plan, cursor, limit } }) => {
    const tenants = await tenantsAfter(db, { plan, after: cursor, limit: limit + 1 })
    const page = tenants.slice(0, limit)
    return { tenants: page, nextCursor: tenants.length > limit ? (page.at(-1)?.slug ?? null) : null }
  }),
  serve(tenantsContract.showTenant, async ({ params: { slug } }) => {
    const tenant = await tenantBySlug(db, slug)
    if (!tenant) throw problem('NOT_FOUND', `there is no tenant ${slug}: \`tenantry tenants list\` shows all`)
    return tenant
  }),
]
