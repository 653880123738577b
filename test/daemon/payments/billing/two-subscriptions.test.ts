import { expect, test } from 'vitest'
import { previewBilling } from '../../../../src/daemon/payments/billing/preview.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld, perUser } from '../../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** The item was installed for a day, and again by a second subscription from the 10th; the same ten users call before, between and after. */
async function installedTwice(...[db]: Parameters<typeof aBillingWorld>) {
  const room = await aBillingWorld(db, { ...perUser, start: '2026-03-01T10:00:00.000Z' })
  await room.active(10)
  await room.until('2026-03-03T10:00:00.000Z')
  await room.install()
  await room.until('2026-03-04T10:00:00.000Z')
  await room.uninstall()
  await room.runJobs()
  // Its period ended on the 5th.
  await room.until('2026-03-10T10:00:00.000Z')
  await room.install()
  await room.active(10)
  await room.until('2026-03-20T10:00:00.000Z')
  return room
}

const previewOfMarch = async (room: Room) =>
  (await previewBilling(room.deps, { month: '2026-03', limit: 50 })).previews.map(({ totalCents }) => totalCents)

onBothDialects('two subscriptions of an item with a price per user in one month', (fresh) => {
  test('users whose days also cover the first one, which did not count them, are charged once by the second one', async () => {
    const room = await installedTwice(await fresh())
    // Ten users at 1.50 EUR.
    expect(await previewOfMarch(room)).toEqual([1500])
    await room.until('2026-05-10T10:00:00.000Z')
    expect((await room.reports()).map(({ month, quantity }) => [month, quantity])).toEqual([
      ['2026-03', 0],
      ['2026-03', 10],
      ['2026-04', 0],
    ])
    expect(await previewOfMarch(room)).toEqual([1500])
    expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
    expect(room.money()).toEqual([1500, 1050, 450])
  })

  test('users whom the first one counted are not charged by the second one; the preview says so before and after', async () => {
    const room = await aBillingWorld(await fresh(), { ...perUser, start: '2026-03-01T10:00:00.000Z' })
    await room.install()
    await room.active(4)
    await room.until('2026-03-03T10:00:00.000Z')
    await room.uninstall()
    await room.runJobs()
    await room.until('2026-03-10T10:00:00.000Z')
    await room.install()
    // Two of the four, and three others.
    await room.active(5, 2)
    expect(await previewOfMarch(room)).toEqual([1050])
    await room.until('2026-05-10T10:00:00.000Z')
    expect((await room.reports()).filter(({ month }) => month === '2026-03').map(({ quantity }) => quantity)).toEqual([4, 3])
    expect(await previewOfMarch(room)).toEqual([1050])
    expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
    expect(room.money()).toEqual([1050, 735, 315])
  })

  test('a user who was erased after the first one counted it hides no user of the second one', async () => {
    const room = await aBillingWorld(await fresh(), { ...perUser, start: '2026-03-01T10:00:00.000Z' })
    await room.install()
    await room.active(5)
    await room.until('2026-03-03T10:00:00.000Z')
    await room.uninstall()
    await room.runJobs()
    await room.until('2026-03-10T10:00:00.000Z')
    await room.install()
    // One of the five comes again, and another one; two of the five are erased.
    await room.active(2, 4)
    await room.db.deleteFrom('billing_active_users').where('user_id', 'in', ['usr_ten_acme_0', 'usr_ten_acme_1']).execute()
    expect(await previewOfMarch(room)).toEqual([900])
    await room.until('2026-05-10T10:00:00.000Z')
    expect((await room.reports()).filter(({ month }) => month === '2026-03').map(({ quantity }) => quantity)).toEqual([5, 1])
    expect(room.money()[0]).toBe(900)
  })

  test('both counted by one run charge each user once', async () => {
    const room = await installedTwice(await fresh())
    await room.db.deleteFrom('billing_reports').execute()
    await room.until('2026-05-10T10:00:00.000Z')
    expect(await previewOfMarch(room)).toEqual([1500])
    expect(room.money()).toEqual([1500, 1050, 450])
  })

  test('random installations and calls of March: every user that called while it was installed is charged, and none twice', async () => {
    for (let seed = 24; seed <= 29; seed++) {
      let state = seed
      const random = () => {
        state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
        return state / 4_294_967_296
      }
      const room = await aBillingWorld(await fresh(), { ...perUser, start: '2026-03-01T10:00:00.000Z' })
      const [sure, called] = [new Set<number>(), new Set<number>()]
      const isActive = async () => (await room.rows()).some(({ status }) => status === 'active')
      for (let day = 2; day <= 30; day += 2) {
        const isInstalled = await isActive()
        const act = random()
        if (act < 0.3 && !isInstalled) await room.install()
        else if (act < 0.5 && isInstalled) await room.uninstall()
        else {
          const user = Math.floor(random() * 6)
          await room.active(1, user)
          called.add(user)
          if (isInstalled) sure.add(user)
        }
        if (random() < 0.1) {
          const [live] = room.double.liveSubscriptions(room.customer.id)
          if (live) await room.provider.cancelSubscription({ key: `by hand ${day}`, id: live.id })
        }
        await room.until(`2026-03-${String(day).padStart(2, '0')}T10:00:00.000Z`)
      }
      if (await isActive()) await room.uninstall()
      await room.until('2026-06-10T00:00:00.000Z')
      const [paid] = room.money() as [number]
      expect(paid, `seed ${seed}`).toBeGreaterThanOrEqual(sure.size * 150)
      expect(paid, `seed ${seed}`).toBeLessThanOrEqual(called.size * 150)
      expect(await room.run('billing-reconcile'), `seed ${seed}`).toBe('0 differences in 1 tenant')
    }
  })
})
