import type { Plan } from '../../core/boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'

/** Columns of a tenant for the list of budgets. */
export type BudgetTenant = Readonly<{ id: string; slug: string; name: string; plan: Plan }>

const maxRows = 500
const columns = ['id', 'slug', 'name', 'plan'] as const

/** Reads tenants by id; deleted ones are omitted. */
export async function tenantsOf(db: DbOrTx, ids: readonly string[]): Promise<BudgetTenant[]> {
  const found: BudgetTenant[] = []
  for (let from = 0; from < ids.length; from += maxRows) {
    const some = ids.slice(from, from + maxRows)
    found.push(...(await db.selectFrom('tenants').select(columns).where('id', 'in', some).execute()))
  }
  return found
}

type After = Readonly<{ plan?: Plan | undefined; slug: string; count: number; besides: ReadonlySet<string> }>

/** Reads `count` tenants after a slug, except those in `besides`. */
export async function tenantsBeside(db: DbOrTx, { plan, slug, count, besides }: After): Promise<BudgetTenant[]> {
  const found: BudgetTenant[] = []
  let after = slug
  while (found.length < count) {
    let query = db.selectFrom('tenants').select(columns).where('slug', '>', after).orderBy('slug').limit(maxRows)
    if (plan) query = query.where('plan', '=', plan)
    const rows = await query.execute()
    found.push(...rows.filter(({ id }) => !besides.has(id)))
    if (rows.length < maxRows) break
    after = rows.at(-1)?.slug ?? after
  }
  return found.slice(0, count)
}
