import { expect, test } from 'vitest'
import { findVendor, isAccountGone } from '../../../src/daemon/marketplace/index.ts'
import { noProvider, syncAccount } from '../../../src/daemon/payments/index.ts'
import { onboardVendor, syncVendor } from '../../../src/daemon/payments/vendors.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aPaymentsWorld } from '../../support/payments/payments-world.ts'
import { readyAccount } from '../../support/payments/provider-double.ts'

const operator = { kind: 'admin', accountId: 'adm_1', name: 'olga', role: 'operator', sessionId: 's' } as const

/** A vendor without an account, and calls of the feature as an operator. */
async function aVendor(...[db, options]: Parameters<typeof aPaymentsWorld>) {
  const room = await aPaymentsWorld(db, options)
  await db
    .updateTable('marketplace_vendors')
    .set({ payment_account_id: null, payment_account_status: 'pending', charges_enabled: 0, payouts_enabled: 0 })
    .execute()
  return {
    ...room,
    onboard: (deps = room.deps) => onboardVendor(deps, operator, { id: 'ven_1' }),
    sync: (deps = room.deps) => syncVendor(deps, operator, { id: 'ven_1' }),
    vendor: () => findVendor(db, { id: 'ven_1' }),
  }
}

onBothDialects('accounts of vendors', (fresh) => {
  test('a new vendor gets one account, also when its creation is answered late or twice', async () => {
    for (const fault of [undefined, 'answer lost', 'twice', 'failed'] as const) {
      const room = await aVendor(await fresh())
      if (fault) room.double.fault('createAccount', fault)
      await room.db.transaction().execute((tx) => room.payments.vendorCreated(tx, { vendorId: 'ven_1' }))
      await room.runJobs().catch(() => room.jobs['payments.vendor']?.({ id: 'ven_1' }, { last: false }))
      const vendor = await room.vendor()
      expect(vendor).toMatchObject({ paymentAccountId: expect.stringMatching(/^acct_/), paymentAccountStatus: 'pending' })
      await room.onboard()
      expect((await room.vendor())?.paymentAccountId).toBe(vendor?.paymentAccountId)
    }
  })

  test('a sync creates no account: its country could never change again', async () => {
    const room = await aVendor(await fresh())
    const message = expect.stringMatching(/ven_1 has no payment account.* fix: `tenantry marketplace vendors onboard ven_1`/)
    await expect(room.sync()).rejects.toMatchObject({ code: 'CONFLICT', message })
    expect([
      (await room.vendor())?.paymentAccountId,
      room.double.calls.filter(({ operation }) => operation === 'createAccount').length,
    ]).toEqual([null, 1])
  })

  test('a sync that read the account before it was restricted does not make it active again', async () => {
    const room = await aVendor(await fresh())
    await room.onboard()
    const id = (await room.vendor())?.paymentAccountId as string
    room.double.setAccount(id, readyAccount)
    let event: unknown
    const getAccount: typeof room.provider.getAccount = async (of) => {
      const found = await room.provider.getAccount(of)
      room.double.setAccount(id, { pastDue: ['external_account'] })
      event = await syncAccount(room.deps, id)
      return found
    }
    await room.sync({ ...room.deps, provider: { ...room.provider, getAccount } })
    // The event is applied after the sync.
    if (typeof event !== 'string') await syncAccount(room.deps, id)
    expect(await room.vendor()).toMatchObject({ paymentAccountStatus: 'restricted' })
  })

  test('onboarding, then the event of the account: active; past due: restricted; complete again: active', async () => {
    const room = await aVendor(await fresh())
    expect(await room.onboard()).toMatchObject({ url: expect.stringMatching(/^https:/) })
    const id = (await room.vendor())?.paymentAccountId as string
    room.double.setAccount(id, readyAccount)
    expect(await syncAccount(room.deps, id)).toBe('vendor ven_1 is active')
    expect(await room.vendor()).toMatchObject({ paymentAccountStatus: 'active', chargesEnabled: true, payoutsEnabled: true })
    room.double.setAccount(id, { pastDue: ['external_account'] })
    expect(await room.sync()).toMatchObject({ paymentAccountStatus: 'restricted' })
    await expect(room.install()).rejects.toMatchObject({ code: 'VENDOR_INACTIVE' })
    const alerts = () => room.db.selectFrom('alerts').select(['kind', 'subject', 'status', 'command', 'count']).execute()
    const command = 'tenantry marketplace vendors onboard ven_1'
    await room.sync()
    expect(await alerts()).toEqual([{ kind: 'vendor_restricted', subject: 'ven_1', status: 'open', command, count: 1 }])
    room.double.setAccount(id, { pastDue: [] })
    expect(await room.sync()).toMatchObject({ paymentAccountStatus: 'active' })
    expect(await alerts()).toMatchObject([{ status: 'closed' }])
    expect(await room.install()).toMatchObject({ status: 'active' })
    expect(await syncAccount(room.deps, 'acct_unknown')).toBe('no vendor has the account')
  })

  test('an account that the provider does not have any more is replaced by the onboarding, with the country of then', async () => {
    const room = await aVendor(await fresh())
    await room.onboard()
    const former = (await room.vendor())?.paymentAccountId as string
    room.double.setAccount(former, readyAccount)
    await room.sync()
    room.double.deleteAccount(former)
    // The key of another account would find it no more than this one does.
    await expect(room.onboard()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringMatching(/vendors sync ven_1/) })
    expect((await room.vendor())?.paymentAccountId).toBe(former)
    expect(await room.sync()).toMatchObject({ paymentAccountStatus: 'restricted', paymentAccountId: former })
    await room.db.updateTable('marketplace_vendors').set({ country: 'AT' }).execute()
    await room.onboard()
    const next = await room.vendor()
    expect(next).toMatchObject({ paymentAccountStatus: 'pending', chargesEnabled: false })
    expect(next?.paymentAccountId).not.toBe(former)
    expect(room.double.calls.filter(({ operation }) => operation === 'createAccount').at(-1)).toMatchObject({ input: { country: 'AT' } })
    expect(await room.db.selectFrom('alerts').select(['kind', 'status']).execute()).toEqual([
      { kind: 'vendor_restricted', status: 'closed' },
    ])
    await room.onboard()
    expect((await room.vendor())?.paymentAccountId).toBe(next?.paymentAccountId)
  })

  test('an account whose creation got no answer is created with a mail address or name that was corrected since', async () => {
    const room = await aVendor(await fresh())
    room.double.fault('createAccount', 'answer lost')
    await expect(room.onboard()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.db.updateTable('marketplace_vendors').set({ contact_email: 'new@flows.example', name: 'Flows GmbH' }).execute()
    expect(await room.onboard()).toMatchObject({ url: expect.stringMatching(/^https:/) })
    expect(room.double.calls.filter(({ operation }) => operation === 'createAccount').at(-1)).toMatchObject({
      input: { email: 'new@flows.example', name: 'Flows GmbH' },
    })
  })

  test('a sync stores whether the account is gone, and one that is restricted is not', async () => {
    const room = await aVendor(await fresh())
    await room.onboard()
    const id = (await room.vendor())?.paymentAccountId as string
    const isGone = async () => (await room.sync()).paymentAccountStatus === 'restricted' && (await isAccountGone(room.db, 'ven_1'))
    room.double.setAccount(id, { disabledReason: 'rejected.fraud' })
    expect([await isGone(), (await room.vendor())?.paymentAccountStatus]).toEqual([false, 'restricted'])
    room.double.deleteAccount(id)
    expect(await isGone()).toBe(true)
    await room.onboard()
    expect(await isAccountGone(room.db, 'ven_1')).toBe(false)
  })

  test('live subscriptions get a new account once it can be paid, not before', async () => {
    const room = await aPaymentsWorld(await fresh())
    await room.install()
    const former = (await findVendor(room.db, { id: 'ven_1' }))?.paymentAccountId as string
    const destination = async () => {
      await room.runJobs()
      return room.double.liveSubscriptions(room.customer.id)[0]?.destination
    }
    room.double.deleteAccount(former)
    await syncVendor(room.deps, operator, { id: 'ven_1' })
    await onboardVendor(room.deps, operator, { id: 'ven_1' })
    const next = (await findVendor(room.db, { id: 'ven_1' }))?.paymentAccountId as string
    expect([next === former, await destination()]).toEqual([false, former])
    room.double.setAccount(next, readyAccount)
    await syncAccount(room.deps, next)
    expect(await destination()).toBe(next)
  })

  test('a change is audited, an unchanged account is not', async () => {
    const room = await aVendor(await fresh())
    await room.onboard()
    const id = (await room.vendor())?.paymentAccountId as string
    room.double.setAccount(id, readyAccount)
    for (let time = 0; time < 3; time++) await room.sync()
    const rows = await room.db.selectFrom('audit').selectAll().execute()
    expect(rows.filter((row) => JSON.stringify(row).includes('payment.account-changed'))).toHaveLength(1)
    expect(rows.filter((row) => JSON.stringify(row).includes('payment.onboarding-link'))).toHaveLength(1)
  })

  test('without a provider or with one that is away or rejects the request: PAYMENTS_UNAVAILABLE; an unknown vendor: NOT_FOUND', async () => {
    const room = await aVendor(await fresh())
    await expect(room.onboard({ ...room.deps, provider: noProvider })).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    room.double.fault('createAccount', 'lost')
    await expect(room.onboard()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.onboard()
    room.double.fault('getAccount', 'lost')
    await expect(room.sync()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    room.double.fault('createAccountLink', 'refused')
    const { message, code } = await room.onboard().catch((error) => error)
    expect([code, message]).toEqual(['PAYMENTS_UNAVAILABLE', expect.stringMatching(/fix: the operator checks the permissions of the key/)])
    expect(message).not.toContain('charged')
    await room.db.deleteFrom('marketplace_items').execute()
    await room.db.deleteFrom('marketplace_vendors').execute()
    await expect(room.sync()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
