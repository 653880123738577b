import { expect, test } from 'vitest'
import type { Db } from '../../../../src/daemon/db/index.ts'
import { erasePackages } from '../../../../src/daemon/modules/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aStoreWorld } from '../../../support/store-world.ts'

const refused = (code: string) => ({ code })

onBothDialects('the catalogue of the store', (fresh) => {
  /** A room with `attendance` (organization) and `bus-times` (integration, paid) listed. */
  async function aCatalogue() {
    const room = await aStoreWorld(await fresh())
    const anna = await room.aDeveloper('anna')
    const billing = { model: 'subscription', monthlyPrice: 4.5, currency: 'EUR' }
    await room.listed(anna, { id: 'attendance', manifest: { category: 'organization' } })
    await room.clock.advance(1000)
    await room.listed(anna, { id: 'bus-times', manifest: { category: 'integration', name: 'Öffis 100%', billing } })
    const ben = room.as('ben')
    const ids = async (query: object) => (await ben.listStoreModules({ query })).modules.map(({ moduleId }) => moduleId)
    return { ...room, anna, ben, ids }
  }
  const install = (db: Db, tenantId: string, moduleId: string, status: 'active' | 'deleted' = 'active') =>
    db
      .insertInto('module_installations')
      .values({
        ...{ tenant_id: tenantId, module_id: moduleId, version: '0.1.0', status, paused: 0, permissions: '[]', feature_flag: 'f' },
        ...{ settings: '{}', generation: 1, data_generation: 1, data_version: 0, data_bytes: 0, former: null, former_until: null },
        ...{ remote: null, upstream_host: null, installed_at: 'now', activated_at: null, data_delete_at: null, updated_at: 'now' },
      })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'module_id']).doUpdateSet({ status }))
      .execute()

  test('lists approved modules by category and by a part of name or id in any case', async () => {
    const { ben, ids, anna, upload } = await aCatalogue()
    await upload(anna, { id: 'not-approved' })
    const { modules, total } = await ben.listStoreModules()
    expect(total).toBe(2)
    expect(modules.find(({ moduleId }) => moduleId === 'bus-times')).toEqual({
      ...{ moduleId: 'bus-times', name: 'Öffis 100%', version: '0.1.0', type: 'A', category: 'integration' },
      ...{ description: expect.any(String), author: { name: expect.any(String), email: expect.any(String) } },
      ...{ billing: { model: 'subscription', monthlyPrice: 4.5, currency: 'EUR' } },
      ...{ rating: { average: 0, count: 0 }, installations: 0, installed: null },
    })
    expect(await ids({ category: 'integration' })).toEqual(['bus-times'])
    expect(await ids({ category: 'security' })).toEqual([])
    for (const search of ['BUS', 'ÖFFIS', ' öffis ', '100%']) expect(await ids({ search })).toEqual(['bus-times'])
    for (const search of ['%', '_']) expect((await ids({ search })).length).toBe(search === '%' ? 1 : 0)
    expect(await ids({ search: '' })).toHaveLength(2)
    expect(await ids({ sort: 'newest' })).toEqual(['bus-times', 'attendance'])
    expect(await ben.listStoreModules({ query: { limit: 1, offset: 1, sort: 'newest' } })).toMatchObject({
      ...{ total: 2, modules: [{ moduleId: 'attendance' }] },
    })
    const { categories } = await ben.listStoreCategories()
    expect(categories).toEqual(['communication', 'organization', 'analytics', 'integration', 'security', 'other'])
    const wrong = [{ limit: 0 }, { limit: 201 }, { offset: -1 }, { offset: 100_001 }, { sort: 'random' }, { category: 'x' }]
    for (const query of [...wrong, { search: 'a\0' }, { search: 'x'.repeat(101) }])
      await expect(ids(query)).rejects.toMatchObject(refused('VALIDATION'))
  })

  test('a withdrawn module is not listed', async () => {
    const { db, ids, ben } = await aCatalogue()
    await db
      .insertInto('module_withdrawals')
      .values({ module_id: 'attendance', version: '0.1.0', reason: 'r', withdrawn_at: 'n' })
      .execute()
    expect(await ids({})).toEqual(['bus-times'])
    await expect(ben.showStoreModule({ params: { moduleId: 'attendance' } })).rejects.toMatchObject(refused('NOT_FOUND'))
  })

  test('users of a tenant that has the module rate it once; installations and ratings order the list', async () => {
    const { ben, anna, as, ids, audited, db, tenantId, clock } = await aCatalogue()
    const params = { moduleId: 'attendance' }
    const rate = (rating: number, comment?: string) =>
      ben.rateModule({ params, body: { rating, ...(comment === undefined ? {} : { comment }) } })
    await expect(rate(5)).rejects.toMatchObject({ code: 'FORBIDDEN', status: 403 })
    await expect(ben.rateModule({ params: { moduleId: 'no-such' }, body: { rating: 5 } })).rejects.toMatchObject(refused('NOT_FOUND'))
    await install(db, tenantId, 'attendance')
    expect(await rate(5, ' useful\nevery day ')).toEqual({
      ...{ id: expect.stringMatching(/^rat_/), rating: 5, comment: 'useful\nevery day', createdAt: expect.any(String) },
    })
    await anna.rateModule({ params, body: { rating: 2 } })
    const [, mine] = [await clock.advance(1000), await rate(4, '<script>alert(1)</script>')]
    const shown = await ben.showStoreModule({ params })
    expect(shown).toMatchObject({
      rating: { average: 3, count: 2 },
      ...{ installations: 1, installed: { status: 'active', version: '0.1.0' } },
      manifest: { id: 'attendance', events: { subscribes: ['space.created'] } },
      ratings: [
        { rating: 4, comment: '<script>alert(1)</script>' },
        { rating: 2, comment: null },
      ],
    })
    expect(await ids({ sort: 'popular' })).toEqual(['attendance', 'bus-times'])
    expect(await ids({ sort: 'rating' })).toEqual(['attendance', 'bus-times'])

    for (const body of [{ rating: 0 }, { rating: 6 }, { rating: 2.5 }, { rating: 1, comment: 'x'.repeat(2001) }])
      await expect(ben.rateModule({ params, body })).rejects.toMatchObject(refused('VALIDATION'))
    for (const comment of ['a\0b', 'a\u001b[31m', 'a\u202eb', 'a\u200bb'])
      await expect(rate(1, comment)).rejects.toMatchObject(refused('VALIDATION'))

    await expect(ben.removeRatingComment({ params: { id: mine.id } })).rejects.toMatchObject(refused('FORBIDDEN'))
    for (const reviewer of ['rita', 'root']) await as(reviewer).removeRatingComment({ params: { id: mine.id } })
    expect((await audited()).filter((action) => action === 'store.comment-removed')).toHaveLength(1)
    await expect(as('rita').removeRatingComment({ params: { id: 'rat_none' } })).rejects.toMatchObject(refused('NOT_FOUND'))
    expect((await ben.showStoreModule({ params })).ratings[0]).toMatchObject({ rating: 4, comment: null })

    await install(db, tenantId, 'attendance', 'deleted')
    await expect(rate(1)).rejects.toMatchObject(refused('FORBIDDEN'))
    expect((await ben.showStoreModule({ params })).installed).toBeNull()
    expect((await ben.showStoreModule({ params })).installations).toBe(0)
  })

  test('ratings of a module go with the tenant of its developer', async () => {
    const room = await aCatalogue()
    const { ben, db, tenantId, stored } = room
    await install(db, tenantId, 'attendance')
    await ben.rateModule({ params: { moduleId: 'attendance' }, body: { rating: 5 } })
    await erasePackages(room, { id: 'another tenant' })
    expect(await db.selectFrom('store_ratings').select('module_id').execute()).toHaveLength(1)
    await erasePackages(room, { id: tenantId })
    expect([await db.selectFrom('store_ratings').select('module_id').execute(), await stored()]).toEqual([[], []])
  })
})
