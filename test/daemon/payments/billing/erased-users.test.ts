import { expect, test } from 'vitest'
import type { TenantId, UserId } from '../../../../src/core/kit/index.ts'
import { previewBilling } from '../../../../src/daemon/payments/billing/preview.ts'
import { eraseActiveUser } from '../../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld, perUser } from '../../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

const idOf = (nth: number) => `usr_ten_acme_${nth}` as UserId
const erase = (room: Room, nth: number) => eraseActiveUser(room.deps, { id: idOf(nth), tenantId: 'ten_acme' })
const storedIds = async (room: Room) =>
  (await room.db.selectFrom('billing_active_users').select('user_id').execute()).map(({ user_id }) => user_id)

onBothDialects('users that were erased in the month in which they used an item', (fresh) => {
  test('are charged, of which the vendor gets 70 %; nothing names them', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(5)
    room.deps.activeUsers.record({ tenantId: 'ten_acme' as TenantId, userId: idOf(5) })
    for (const nth of [0, 1, 5, 0]) await erase(room, nth)
    const ids = await storedIds(room)
    expect([ids.length, ids.filter((id) => [0, 1, 5].map(idOf).includes(id as UserId))]).toEqual([6, []])
    // Six users at 1.50 EUR.
    expect((await previewBilling(room.deps, { limit: 5 })).previews.map(({ totalCents }) => totalCents)).toEqual([900])
    await room.until('2026-05-06T00:00:00.000Z')
    expect(room.money()).toEqual([900, 630, 270])
    expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
  })

  test('leave no link between their months', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(1)
    await room.until('2026-04-02T00:00:00.000Z')
    await room.active(1)
    await erase(room, 0)
    const [march, april] = await storedIds(room)
    expect([march, april]).toEqual([expect.stringMatching(/^erased_/), expect.stringMatching(/^erased_/)])
    expect(march).not.toBe(april)
  })
})
