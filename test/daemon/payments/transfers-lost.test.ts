import { expect, test } from 'vitest'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'
import { readyAccount } from '../../support/payments/provider-double.ts'

onBothDialects('a vendor whose account lost transfers', (fresh) => {
  test('gets no charge of live subscriptions: they fall behind and stay installed, until the account is complete and the invoice paid', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.deliver()
    const [, vendorCents] = room.money()
    const open = async () =>
      (await room.db.selectFrom('alerts').select('kind').where('status', '=', 'open').orderBy('kind').execute()).map(({ kind }) => kind)

    room.double.setAccount(room.account.id, { transfersEnabled: false })
    await room.until('2026-04-12T00:00:00.000Z')
    await room.deliver()
    expect(room.money()[1]).toBe(vendorCents)
    expect(await room.rows()).toMatchObject([{ status: 'active', payment_status: 'past_due' }])
    expect(await open()).toEqual(['payment_failed', 'vendor_restricted'])
    const [unpaid] = [...room.double.invoices.values()].filter(({ status }) => status === 'open')
    const pay = (key: string) => room.provider.payInvoice({ key, invoiceId: unpaid?.id as string })
    await expect(pay('too early')).rejects.toMatchObject({ message: expect.stringContaining('cannot receive transfers') })

    room.double.setAccount(room.account.id, readyAccount)
    await pay('the provider tries again')
    await room.deliver()
    expect(room.money()[1]).toBeGreaterThan(vendorCents as number)
    expect(await room.rows()).toMatchObject([{ status: 'active', payment_status: 'ok' }])
    expect(await open()).toEqual([])
  })
})
