import type { Plan } from '../../core/boxes/index.ts'
import { brandingOf } from '../../core/branding/index.ts'
import { pageOf } from '../../core/contract/index.ts'
import type { FileUsage } from '../../core/files/index.ts'
import { type Clock, isoNow, problem } from '../../core/kit/index.ts'
import type { Tenant, TenantInFull } from '../../core/tenants/index.ts'
import { type WindowRules, windowAt, windowInForce } from '../../core/windows/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { liveBoxesOf, type TenantRecord, tenantBySlug, tenantsAfter } from './tenants.repo.ts'

type Deps = Readonly<{ clock: Clock; windows: WindowRules }>

/** Throws NOT_FOUND naming the slug. */
export async function existingTenant(db: DbOrTx, slug: string): Promise<TenantRecord> {
  const tenant = await tenantBySlug(db, slug)
  if (!tenant) throw problem('NOT_FOUND', `Tenant ${slug} does not exist. fix: \`tenantry tenants list\` lists tenants`)
  return tenant
}

/** Tenants in API responses, with effective window and live box. */
async function tenantViews({ clock, windows }: Deps, db: DbOrTx, tenants: readonly TenantRecord[]): Promise<Tenant[]> {
  const homeservers = await liveBoxesOf(
    db,
    tenants.map(({ id }) => id),
  )
  return tenants.map((tenant) => {
    const inForce = windowInForce(windows, tenant.tier, tenant)
    return {
      ...{ ...tenant, branding: brandingOf(tenant.branding), homeserver: homeservers.get(tenant.id) ?? null },
      window: inForce && windowAt(inForce, isoNow(clock)),
    }
  })
}

export const tenantView = async (deps: Deps, db: DbOrTx, tenant: TenantRecord): Promise<Tenant> =>
  (await tenantViews(deps, db, [tenant]))[0] as Tenant

/** Port to the files feature. */
export type FileUsageOf = (db: Db, tenant: Pick<TenantRecord, 'id' | 'plan'>) => Promise<FileUsage>

/** Throws NOT_FOUND. */
export async function showTenant(
  deps: Deps & Readonly<{ db: Db; fileUsageOf: FileUsageOf }>,
  { slug }: Readonly<{ slug: string }>,
): Promise<TenantInFull> {
  const tenant = await existingTenant(deps.db, slug)
  return { ...(await tenantView(deps, deps.db, tenant)), files: await deps.fileUsageOf(deps.db, tenant) }
}

type Page = Readonly<{ plan?: Plan | undefined; cursor?: string | undefined; limit: number }>

/** A page of tenants by slug. */
export async function listTenants(deps: Deps & Readonly<{ db: Db }>, { plan, cursor, limit }: Page) {
  const tenants = await tenantsAfter(deps.db, { plan, after: cursor, limit: limit + 1 })
  const { page, nextCursor } = pageOf(tenants, limit, ({ slug }) => slug)
  return { tenants: await tenantViews(deps, deps.db, page), nextCursor }
}
