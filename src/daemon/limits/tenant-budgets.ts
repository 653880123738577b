import type { Clock } from '../../core/kit/index.ts'
import type { Budgets } from '../../core/limits/index.ts'
import type { Db } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; budgets: Budgets }>
type Known = { budget: number | Promise<number>; untilMs: number }

/** A new plan counts on every replica after this long at the latest. */
const keptMs = 5000

/**
 * What a tenant may use, by its plan; a tenant that is gone has the smallest budget. Read from the database now and then; where that fails, what
 * was read before holds on.
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
    const one: Known = { budget, untilMs: nowMs + keptMs }
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
