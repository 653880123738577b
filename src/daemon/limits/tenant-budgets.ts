import type { Clock } from '../../core/kit/index.ts'
import type { Budgets } from '../../core/limits/index.ts'
import type { Db } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; budgets: Budgets }>
type Known = { budget: number | Promise<number>; untilMs: number }

/** A changed plan takes effect on every replica within this time. */
const cacheMs = 5000

/**
 * The budget of a tenant by its plan, cached for 5 s. A deleted tenant has the smallest budget. If the database fails, the cached value stays in
 * use.
 */
export function tenantBudgets({ db, clock, budgets }: Deps): (tenantId: string) => number | Promise<number> {
  const known = new Map<string, Known>()
  const read = async (tenantId: string) => {
    const row = await db.selectFrom('tenants').select('plan').where('id', '=', tenantId).executeTakeFirst()
    return budgets[row?.plan ?? 'light']
  }
  return (tenantId) => {
    const nowMs = clock.monotonicMs()
    const last = known.get(tenantId)
    if (last && last.untilMs > nowMs) return last.budget
    const budget = read(tenantId).catch((error) => {
      if (last === undefined) throw error
      return last.budget
    })
    const one: Known = { budget, untilMs: nowMs + cacheMs }
    known.set(tenantId, one)
    budget.then(
      (value) => {
        one.budget = value
      },
      () => known.delete(tenantId),
    )
    return budget
  }
}
