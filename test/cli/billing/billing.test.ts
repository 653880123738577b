import { expect, test } from 'vitest'
import type { Difference, Payout, Preview, UsageRow } from '../../../src/core/billing/index.ts'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const base = '/api/admin/v1/billing'
const preview: Preview = {
  ...{ month: '2026-01', tenant: 'anna-schule', totalCents: 1249, currency: 'eur' },
  charges: [
    { ...{ kind: 'users', subject: 'item_1', name: 'Visitors\u001b[31m', quantity: 7 }, unitCents: 150, cents: 1050, currency: 'eur' },
    { kind: 'module', subject: 'attendance', name: 'Attendance', quantity: 1, unitCents: 199, cents: 199, currency: 'eur' },
  ],
  unbilled: [{ month: '2025-12', cents: 199, currency: 'eur' }],
}
const usage: UsageRow = {
  ...{ id: 'mus_1', tenant: 'anna-schule', month: '2025-12', kind: 'module', subject: 'attendance', quantity: 1, unitCents: 5, cents: 5 },
  ...{ currency: 'eur', state: 'unbilled', reason: 'the tenant has no payment customer', invoiceId: null, invoiceItemId: null },
  createdAt: at('00:00:00'),
}
const payout: Payout = {
  ...{ id: 'pyo_1', developerId: 'dev_1', vendorId: 'vnd_1', month: '2025-12', grossCents: 1000, feeCents: 300, netCents: 700 },
  ...{
    heldCents: 250,
    deductedCents: 1,
    currency: 'eur',
    state: 'waiting',
    reason: 'the vendor cannot be paid',
    transferId: null,
    createdAt: at('00:00:00'),
  },
}
const difference: Difference = {
  ...{ kind: 'price_differs', subject: 'anna-schule', id: 'sub_1', here: 'acct_1, fee 30 %', there: 'acct_1, fee 5 %\u001b[31m' },
  fix: 'tenantry jobs list --topic payments.subscription-terms',
}

test('preview prints each charge and the total in euros', async () => {
  const answers = { [`GET ${base}/preview`]: { month: '2026-01', previews: [preview], nextCursor: 'anna-schule' } }
  const ran = await tenantry(['billing', 'preview', '--month', '2026-01', '--tenant', 'anna-schule'], { answers })
  expect(ran.asked[0]?.search).toBe('?month=2026-01&tenant=anna-schule')
  expect(ran.stdout).toMatch(/TENANT +CHARGE +KIND +QUANTITY +PRICE +AMOUNT/)
  expect(ran.stdout).toMatch(/anna-schule +Visitors.* +users +7 +1\.50 EUR +10\.50 EUR/)
  expect(ran.stdout).toMatch(/Attendance +module +1 +1\.99 EUR +1\.99 EUR/)
  expect(ran.stdout).toContain('Total of this page in 2026-01: 12.49 EUR')
  expect(ran.stdout).toContain('Earlier months that are not billed, charged in addition:\n  anna-schule 2025-12: 1.99 EUR')
  expect(ran.stdout).toContain('--cursor anna-schule')
  expect(ran.stdout).not.toContain('\u001b[31m')
  const none = {
    [`GET ${base}/preview`]: { month: '2026-01', previews: [{ ...preview, charges: [], totalCents: 0, unbilled: [] }], nextCursor: null },
  }
  expect((await tenantry(['billing', 'preview'], { answers: none })).stdout).toBe('No charges in 2026-01.\n')
})

test('usage says why a month is not billed', async () => {
  const answers = { [`GET ${base}/usage`]: { usage: [usage], nextCursor: null, open: { unbilled: 3, planned: 1 } } }
  const ran = await tenantry(['billing', 'usage', '--month', '2025-12', '--state', 'unbilled'], { answers })
  expect(ran.asked[0]?.search).toBe('?month=2025-12&state=unbilled')
  expect(ran.stdout).toContain('Not billed, of all tenants and months: 3 unbilled, 1 planned.')
  expect(ran.stdout).toMatch(/anna-schule +2025-12 .*0\.05 EUR +unbilled .*the tenant has no payment customer/)
  expect(
    (
      await tenantry(['billing', 'usage'], {
        answers: { [`GET ${base}/usage`]: { usage: [], nextCursor: null, open: { unbilled: 0, planned: 0 } } },
      })
    ).stdout,
  ).toBe('No usage.\n')
})

test('waive prints what is waived, needs a month and a reason, and has --json', async () => {
  const answers = { [`POST ${base}/waive`]: { usage: [{ ...usage, state: 'waived', reason: 'pilot' }] } }
  const command = ['billing', 'waive', 'anna-schule', '--until', '2025-12', '--reason', 'pilot']
  const ran = await tenantry(command, { answers })
  expect(ran.asked[0]?.body).toEqual({ tenant: 'anna-schule', until: '2025-12', reason: 'pilot' })
  expect(ran.stdout).toMatch(/anna-schule +2025-12 .*0\.05 EUR +waived .*pilot/)
  expect(ran.stdout).toContain('Waived: 0.05 EUR.')
  expect(JSON.parse((await tenantry([...command, '--json'], { answers })).stdout)).toMatchObject({ usage: [{ state: 'waived' }] })
  const missing = await tenantry(['billing', 'waive', 'anna-schule', '--until', '2025-12'])
  expect([missing.exit, missing.asked]).toEqual([2, []])
})

test('payouts prints the vendor, gross, fee, net and what is held', async () => {
  const answers = { [`GET ${base}/payouts`]: { payouts: [payout], nextCursor: null } }
  const ran = await tenantry(['billing', 'payouts'], { answers })
  expect(ran.stdout).toMatch(/DEVELOPER +VENDOR +MONTH +GROSS +FEE +NET +HELD +DEDUCTED +STATUS/)
  expect(ran.stdout).toMatch(
    /dev_1 +(vnd_1|none) +2025-12 +10\.00 EUR +3\.00 EUR +7\.00 EUR +2\.50 EUR +0\.01 EUR +waiting +.*the vendor cannot be paid/,
  )
})

test('developer sets or removes the vendor, and without one it is a usage error', async () => {
  const answers = { [`PUT ${base}/developers/dev_1`]: { developerId: 'dev_1', vendorId: 'vnd_1' } }
  const ran = await tenantry(['billing', 'developer', 'dev_1', '--vendor', 'vnd_1'], { answers })
  expect(ran.asked[0]?.body).toEqual({ vendorId: 'vnd_1' })
  expect(ran.stdout).toBe('Payouts of dev_1 go to the account of vnd_1.\n')
  const none = { [`PUT ${base}/developers/dev_1`]: { developerId: 'dev_1', vendorId: null } }
  const removed = await tenantry(['billing', 'developer', 'dev_1', '--vendor', 'none'], { answers: none })
  expect([removed.asked[0]?.body, removed.stdout]).toEqual([{ vendorId: null }, 'Payouts of dev_1 are not transferred.\n'])
  const missing = await tenantry(['billing', 'developer', 'dev_1'])
  expect([missing.exit, missing.asked]).toEqual([2, []])
})

test('reconcile reads all pages, names each difference with its fix, and changes nothing', async () => {
  const pages = [
    { differences: [difference], checked: 50, nextCursor: 'b' },
    { differences: [], checked: 3, nextCursor: null },
  ]
  const ran = await tenantry(['billing', 'reconcile'], { answers: { [`GET ${base}/reconcile`]: pages } })
  expect(ran.asked.map(({ method, search }) => `${method} ${search}`)).toEqual(['GET ', 'GET ?cursor=b'])
  expect(ran.stdout).toContain('price_differs anna-schule (sub_1)\n  here:  acct_1, fee 30 %\n  there: acct_1, fee 5 %')
  expect(ran.stdout).toContain('1 difference in 53 tenants. Nothing was changed.')
  expect(ran.stdout).not.toContain('\u001b[31m')
})
