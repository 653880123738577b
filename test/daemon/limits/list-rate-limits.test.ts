import { expect, test } from 'vitest'
import { isProblem, manualClock } from '../../../src/core/kit/index.ts'
import { defaultBudgets, limitsContract } from '../../../src/core/limits/index.ts'
import { memoryStore } from '../../../src/daemon/limits/index.ts'
import { listRateLimits } from '../../../src/daemon/limits/list-rate-limits.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aTenant } from '../../support/limits-world.ts'

onBothDialects('the overview of budgets', (fresh) => {
  async function aList() {
    const [db, clock] = [await fresh(), manualClock()]
    const store = memoryStore(clock)
    const uses = {
      anna: ['light', 1900],
      bert: ['pro', 1900],
      carl: ['dedicated', 200],
      dora: ['light', 20],
      emil: ['light', 0],
      fritz: ['pro', 0],
    } as const
    for (const [slug, [plan, used]] of Object.entries(uses)) {
      const id = await aTenant(db, clock, slug, plan)
      for (let n = 0; n < used; n++) await store.take(id, 100_000)
    }
    await store.take('ten_gone', 5)
    const deps = { db, store, budgets: defaultBudgets }
    const list = (query: Parameters<typeof listRateLimits>[1]) => listRateLimits(deps, query)
    return { list, slugs: async (query: Parameters<typeof listRateLimits>[1]) => (await list(query)).tenants.map(({ slug }) => slug) }
  }

  test('names the top consumers first, by the share of their budget, then the others by slug', async () => {
    const { list } = await aList()
    const answer = await list({ limit: 50 })
    expect(limitsContract.rateLimits.returns.parse(answer)).toEqual(answer)
    expect(answer).toMatchObject({ windowSeconds: 60, store: 'memory', nextCursor: null })
    expect(answer.tenants.map(({ slug, used, utilisation }) => [slug, used, utilisation])).toEqual([
      ['anna', 1900, 95],
      ['bert', 1900, 19],
      ['carl', 200, 1],
      ['dora', 20, 1],
      ['emil', 0, 0],
      ['fritz', 0, 0],
    ])
    expect(answer.tenants[0]).toMatchObject({ name: 'The anna', plan: 'light', budget: 2000, remaining: 100, slowdownMs: 1579 })
  })

  test('comes in pages without a gap and without one twice', async () => {
    const { list } = await aList()
    const pages = async (limit: number, cursor?: string): Promise<string[]> => {
      const { tenants, nextCursor } = await list({ limit, cursor })
      const slugs = tenants.map(({ slug }) => slug)
      expect(slugs.length).toBeLessThanOrEqual(limit)
      return nextCursor === null || slugs.length === 0 ? slugs : [...slugs, ...(await pages(limit, nextCursor))]
    }
    for (const limit of [1, 2, 3, 4, 5, 6]) expect(await pages(limit)).toEqual(['anna', 'bert', 'carl', 'dora', 'emil', 'fritz'])
  })

  test('can be of one plan, and of those above a share only', async () => {
    const { slugs } = await aList()
    expect(await slugs({ limit: 50, plan: 'light' })).toEqual(['anna', 'dora', 'emil'])
    expect(await slugs({ limit: 50, above: 0 })).toEqual(['anna', 'bert', 'carl', 'dora'])
    expect(await slugs({ limit: 50, above: 1 })).toEqual(['anna', 'bert'])
    expect(await slugs({ limit: 50, above: 80, plan: 'pro' })).toEqual([])
  })

  test('refuses a cursor that it did not make', async () => {
    const { list } = await aList()
    for (const cursor of ['x', 'NaN:anna', '1:', '-1:anna', '1:Anna'])
      expect(await list({ limit: 5, cursor }).catch((error) => isProblem(error, 'VALIDATION'))).toBe(true)
  })
})
