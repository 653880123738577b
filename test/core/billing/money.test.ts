import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countModules, paymentFailedMail, sharesOf } from '../../../src/core/billing/index.ts'

const cents = fc.integer({ min: 0, max: 100_000 })
const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0)

type Paid = Readonly<{ totalCents: number; taxCents?: number; paidCents?: number; refundedCents?: number }>
const paidInvoice = ({ totalCents, taxCents = 0, paidCents = totalCents, refundedCents = 0 }: Paid) =>
  ({
    status: 'paid',
    isDisputed: false,
    isLost: false,
    total: { cents: totalCents, currency: 'eur' },
    taxCents,
    paidCents,
    refundedCents,
  }) as const

describe('the share of modules in a refund', () => {
  test('adds up to the refund, and no module is refunded more than its price', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50_000 }), { minLength: 1, maxLength: 8 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (prices, part) => {
          const owed = sum(prices)
          const invoice = paidInvoice({ totalCents: owed, refundedCents: Math.round(owed * part) })
          const shares = sharesOf(
            invoice,
            prices.map((priceCents, nth) => ({ id: String(nth), priceCents })),
          )
          expect(sum(shares.map(({ refundedCents }) => refundedCents))).toBe(invoice.refundedCents)
          for (const [nth, share] of shares.entries()) expect(share.refundedCents).toBeLessThanOrEqual(prices[nth] as number)
        },
      ),
    )
  })

  test('of a tax is not deducted: 1.19 EUR of 5.95 EUR are 1.00 EUR of the price', () => {
    const invoice = paidInvoice({ totalCents: 595, taxCents: 95, refundedCents: 119 })
    expect(sharesOf(invoice, [{ id: 'a', priceCents: 500 }])).toEqual([{ id: 'a', state: 'paid', refundedCents: 100 }])
  })

  test.each([
    ['paid in full', { totalCents: 11_900, taxCents: 1_900 }, 'paid'],
    ['15.00 EUR by a credit balance', { totalCents: 11_900, taxCents: 1_900, paidCents: 10_400 }, 'billed'],
    ['a coupon of 10 %', { totalCents: 10_710, taxCents: 1_710 }, 'billed'],
  ])('100.00 EUR with 19 %% tax, %s', (_, invoice, state) => {
    expect(sharesOf(paidInvoice(invoice), [{ id: 'a', priceCents: 10_000 }])).toMatchObject([{ state }])
  })
})

test('a statement is never negative, and what it counts adds up', () => {
  const module = fc.record({ id: fc.uuid(), dueCents: cents, countedCents: cents })
  fc.assert(
    fc.property(fc.array(module, { maxLength: 10 }), cents, (modules, start) => {
      const { changes, grossCents, deductedCents } = countModules(modules, start)
      expect(grossCents).toBeGreaterThanOrEqual(0)
      expect(start + sum(changes.map((one) => one.cents))).toBe(grossCents)
      expect(sum(changes.filter((one) => one.cents < 0).map((one) => -one.cents))).toBe(deductedCents)
    }),
  )
})

test.each([
  [false, 'tried again in the next days'],
  [true, 'not tried again by itself'],
])('the mail of a failed payment (unpaid: %s) escapes names in HTML and says what follows', (isUnpaid, follows) => {
  const mail = paymentFailedMail({
    tenantName: 'Acme & <b>Co</b>',
    itemName: '"><script>',
    isUnpaid,
    isInstalled: true,
    billsUrl: 'https://platform.example/school/bills',
  })
  expect(mail.html).toContain('<p>Hello Acme &amp; &lt;b&gt;Co&lt;/b&gt;,</p>')
  expect(mail.html).not.toMatch(/<script|<b>/)
  for (const text of [mail.html, mail.text]) expect(text).toContain(follows)
  expect(mail.html.match(/<p>/g)).toHaveLength(3)
})
