import type { Plan } from '../../core/boxes/index.ts'
import { noSuchPage, pageOf } from '../../core/contract/index.ts'
import { type Budgets, delayMs, type RateLimits, type TenantUse, utilisation, windowSeconds } from '../../core/limits/index.ts'
import type { Db } from '../db/index.ts'
import type { BudgetStore } from './budget-store.ts'
import { type BudgetTenant, tenantsBeside, tenantsOf } from './busy-tenants.repo.ts'

export type ListDeps = Readonly<{ db: Db; store: BudgetStore; budgets: Budgets }>

type Asked = Readonly<{ plan?: Plan | undefined; above?: number | undefined; cursor?: string | undefined; limit: number }>

/** Sort key of a tenant; unrounded, because the cursor contains it. */
type Place = Readonly<{ share: number; slug: string }>
type Placed = Place & Readonly<{ use: TenantUse }>

/** Lists tenants by utilisation, highest first, then idle tenants by slug. Throws UNAVAILABLE. */
export async function listRateLimits(deps: ListDeps, { plan, above, cursor, limit }: Asked): Promise<RateLimits> {
  const { db, store, budgets } = deps
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const busy = await store.busy()
  const tenants = (await tenantsOf(db, [...busy.keys()])).filter((tenant) => plan === undefined || tenant.plan === plan)
  const found = tenants
    .map((tenant) => placed(tenant, budgets, busy.get(tenant.id) ?? 0))
    .filter((one) => comesAfter(one, after) && one.share > (above ?? 0))
    .sort(inOrder)
    .slice(0, limit + 1)
  if (above === undefined && found.length <= limit) {
    const slug = after?.share === 0 ? after.slug : ''
    const idle = await tenantsBeside(db, { plan, slug, count: limit + 1 - found.length, besides: new Set(busy.keys()) })
    found.push(...idle.map((tenant) => placed(tenant, budgets, 0)))
  }
  const { page, nextCursor } = pageOf(found, limit, ({ share, slug }) => `${share}:${slug}`)
  return { windowSeconds, store: store.name, tenants: page.map(({ use }) => use), nextCursor }
}

function placed({ id, slug, name, plan }: BudgetTenant, budgets: Budgets, used: number): Placed {
  const budget = budgets[plan]
  const share = utilisation(used, budget)
  const use = { tenantId: id, slug, name, plan, budget, used, remaining: Math.max(0, budget - used) }
  return { share, slug, use: { ...use, utilisation: Math.round(share * 10) / 10, slowdownMs: delayMs(used, budget) } }
}

const inOrder = (a: Place, b: Place): number => b.share - a.share || (a.slug < b.slug ? -1 : Number(a.slug > b.slug))
const comesAfter = (one: Place, after: Place | undefined): boolean => after === undefined || inOrder(one, after) > 0

function readCursor(cursor: string): Place {
  const [, share, slug] = /^(\d+(?:\.\d+)?(?:e-\d+)?):([a-z0-9-]+)$/.exec(cursor) ?? []
  if (share === undefined || slug === undefined) throw noSuchPage()
  return { share: Number(share), slug }
}
