import { expect, test } from 'vitest'
import {
  type AccountState,
  accountStateOf,
  assertVendorIsPayable,
  Currency,
  moneyText,
  type ProviderAccount,
} from '../../../src/core/payments/index.ts'

const ready: Omit<ProviderAccount, 'id'> = {
  chargesEnabled: true,
  payoutsEnabled: true,
  transfersEnabled: true,
  pastDue: [],
  disabledReason: null,
}

test.each<[string, Partial<ProviderAccount>, AccountState, AccountState]>([
  ['complete', {}, 'pending', 'active'],
  ['complete again', {}, 'restricted', 'active'],
  ['no payouts yet', { payoutsEnabled: false }, 'pending', 'pending'],
  [
    'a new account, requirements due',
    { chargesEnabled: false, pastDue: ['x'], disabledReason: 'requirements.past_due' },
    'pending',
    'pending',
  ],
  ['requirements past due', { pastDue: ['external_account'] }, 'active', 'restricted'],
  ['requirements past due from the start', { pastDue: ['external_account'] }, 'pending', 'restricted'],
  ['charges taken away', { chargesEnabled: false }, 'active', 'restricted'],
  ['payouts taken away', { payoutsEnabled: false }, 'active', 'restricted'],
  ['transfers taken away', { transfersEnabled: false }, 'active', 'restricted'],
  ['rejected while pending', { chargesEnabled: false, disabledReason: 'rejected.fraud' }, 'pending', 'restricted'],
  ['still incomplete', { chargesEnabled: false }, 'restricted', 'restricted'],
])('%s', (_, patch, before, after) => {
  expect(accountStateOf({ ...ready, ...patch }, before)).toBe(after)
})

test('only an active vendor with charges and payouts may be paid', () => {
  const vendor = { name: 'Flows Ltd', accountStatus: 'active' as const, chargesEnabled: true, payoutsEnabled: true }
  expect(() => assertVendorIsPayable(vendor)).not.toThrow()
  for (const patch of [
    { accountStatus: 'pending' as const },
    { accountStatus: 'restricted' as const },
    { chargesEnabled: false },
    { payoutsEnabled: false },
  ])
    expect(() => assertVendorIsPayable({ ...vendor, ...patch })).toThrow(expect.objectContaining({ code: 'VENDOR_INACTIVE', status: 409 }))
})

test('money has two decimals and a currency', () => {
  expect([0, 5, 1234, -1234, 100_000].map((cents) => moneyText({ cents, currency: 'eur' }))).toEqual([
    '0.00 EUR',
    '0.05 EUR',
    '12.34 EUR',
    '-12.34 EUR',
    '1000.00 EUR',
  ])
  expect(['eur', 'chf', 'EUR', 'jpy', 'euro'].map((code) => Currency.safeParse(code).success)).toEqual([true, true, false, false, false])
})
