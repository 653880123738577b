import type { Plan } from '../../core/boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'

/** Of a tenant, what an overview of budgets shows. */
export type BudgetTenant = Readonly<{ id: string; slug: string; name: string; plan: Plan }>

const mostAtOnce = 500
const columns = ['id', 'slug', 'name', 'plan'] as const

/** Tenants by their ids; those that are gone are left out. */
export async function tenantsOf(db: DbOrTx, ids: readonly string[]): Promise<BudgetTenant[]> {
  const found: BudgetTenant[] = []
  for (let from = 0; from < ids.length; from += mostAtOnce) {
    const some = ids.slice(from, from + mostAtOnce)
    found.push(...(await db.selectFrom('tenants').select(columns).where('id', 'in', some).execute()))
  }
  return found
}

type After = Readonly<{ plan?: Plan | undefined; slug: string; count: number; besides: ReadonlySet<string> }>

/** So many tenants by slug, after the given one, without those named. */
export async function tenantsBeside(db: DbOrTx, { plan, slug, count, besides }: After): Promise<BudgetTenant[]> {
  const found: BudgetTenant[] = []
  let after = slug
  while (found.length < count) {
    let query = db.selectFrom('tenants').select(columns).where('slug', '>', after).orderBy('slug').limit(mostAtOnce)
    if (plan) query = query.where('plan', '=', plan)
    const rows = await query.execute()
    found.push(...rows.filter(({ id }) => !besides.has(id)))
    if (rows.length < mostAtOnce) break
    after = rows.at(-1)?.slug ?? after
  }
  return found.slice(0, count)
}
