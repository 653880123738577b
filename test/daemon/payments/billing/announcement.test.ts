import { expect, test } from 'vitest'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

type Options = NonNullable<Parameters<typeof aBillingWorld>[1]>

onBothDialects('the mail about the charges of a month', (fresh) => {
  async function announced(options: Options, until: string) {
    const room = await aBillingWorld(await fresh(), options)
    await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example' }).execute()
    await room.developer()
    await room.module('attendance', 500)
    await room.install()
    await room.until(until)
    return { room, text: room.mails.at(-1)?.text ?? '' }
  }

  test('promises no saving in the month itself: an uninstallation after it ends later charges alone', async () => {
    const { room, text } = await announced({ start: '2026-03-10T10:00:00.000Z' }, '2026-03-25T00:00:00.000Z')
    expect(text).toContain('Total: 15.00 EUR')
    expect(text).not.toContain('will be charged')
    expect(text).not.toContain('To change it')
    expect(text).toContain('it costs nothing in later months')
    expect(text).toContain('modules of this month are still charged, and a monthly price that was paid is not paid back')
    await room.uninstall()
    await room.runJobs()
    await room.db.updateTable('module_installations').set({ status: 'deactivated' }).execute()
    await room.until('2026-06-15T00:00:00.000Z')
    expect(room.money()[0]).toBe(1500)
  })

  test('a module with a price in another currency is not charged, and is not in the total', async () => {
    const room = await aBillingWorld(await fresh())
    await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example' }).execute()
    await room.module('attendance', 500)
    room.modules.set('attendance', { name: 'attendance', developerId: 'dev_1', price: { cents: 500, currency: 'usd' } })
    await room.module('grades', 300)
    await room.until('2026-03-24T10:00:00.000Z')
    expect(room.mails[0]?.text).toContain('attendance: month at 5.00 USD, not charged: prices are in EUR')
    expect(room.mails[0]?.text).toContain('grades: month at 3.00 EUR = 3.00 EUR')
    expect(room.mails[0]?.text).toContain('Total: 3.00 EUR')
    await room.until('2026-04-02T00:00:00.000Z')
    expect(room.money()[0]).toBe(300)
  })

  test('names no earlier month that is too old once the next run comes', async () => {
    const room = await aBillingWorld(await fresh())
    await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example', payment_customer_id: null }).execute()
    await room.module('attendance', 500)
    await room.until('2026-04-02T00:00:00.000Z')
    const [first] = await room.usage()
    if (!first) throw new Error('nothing was priced')
    const old = ['2025-04', '2025-05'].map((month) => ({ ...first, id: `mus_${month}`, month }))
    await room.db.insertInto('billing_usage').values(old).execute()
    await room.until('2026-04-25T00:00:00.000Z')
    expect(room.mails.at(-1)?.text).toContain('Modules in 2025-05: 5.00 EUR')
    expect(room.mails.at(-1)?.text).not.toContain('2025-04')
    await room.db.updateTable('tenants').set({ payment_customer_id: room.customer.id }).execute()
    await room.until('2026-05-02T00:00:00.000Z')
    expect((await room.usage()).map(({ month, state }) => `${month} ${state}`)).toEqual([
      ...['2025-04 unbilled', '2025-05 billed', '2026-03 billed', '2026-04 billed'],
    ])
  })

  test('names what its total is without: tax and the plan', async () => {
    const taxed = await announced({ automaticTax: true, vendor: false }, '2026-03-25T00:00:00.000Z')
    expect(taxed.text).toContain('Total: 15.00 EUR')
    expect(taxed.text).toContain('Tax is added to these prices. The total is without the price of your plan.')
    await taxed.room.until('2026-04-03T00:00:00.000Z')
    // 10.00 and 5.00 with 19 % tax.
    expect(taxed.room.money()[0]).toBe(1785)
    const { text } = await announced({}, '2026-03-25T00:00:00.000Z')
    expect(text).not.toContain('Tax')
    expect(text).toContain('The total is without the price of your plan.')
  })
})
