import { expect, test } from 'vitest'
import {
  assertCharged,
  changesStatus,
  freeSlug,
  hasUpdate,
  type ItemStatus,
  marketplacePublicContract,
  type SubmissionAction,
  type SubmissionStatus,
  slugOf,
  submissionAfter,
  submissionMail,
  subscriptionAfter,
} from '../../../src/core/marketplace/index.ts'

const outcome = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return (error as { code?: string }).code
  }
}

const submissionMoves: Readonly<Record<string, SubmissionStatus>> = {
  'pending approve': 'approved',
  'pending reject': 'rejected',
  'pending request-changes': 'needs-changes',
  'needs-changes revise': 'pending',
  'needs-changes reject': 'rejected',
}

test('a submission moves by this table alone', () => {
  for (const from of ['pending', 'approved', 'rejected', 'needs-changes'] as const)
    for (const action of ['approve', 'reject', 'request-changes', 'revise'] satisfies SubmissionAction[])
      expect([from, action, outcome(() => submissionAfter('sbm_1', { from, action }))]).toEqual([
        from,
        action,
        submissionMoves[`${from} ${action}`] ?? 'INVALID_TRANSITION',
      ])
})

const itemMoves = ['draft published', 'published draft', 'published archived', 'archived published']

test('an item moves by this table alone', () => {
  const all: ItemStatus[] = ['draft', 'published', 'archived']
  for (const from of all)
    for (const to of all) {
      const expected = from === to ? false : itemMoves.includes(`${from} ${to}`) ? true : 'INVALID_TRANSITION'
      expect([from, to, outcome(() => changesStatus('visitor', { from, to }))]).toEqual([from, to, expected])
    }
})

test.each([
  [null, 'install', 'active'],
  [null, 'uninstall', 'NOT_FOUND'],
  [null, 'payment-deleted', 'NOT_FOUND'],
  ['active', 'install', 'ALREADY_INSTALLED'],
  ['active', 'uninstall', 'cancelled'],
  ['active', 'payment-deleted', 'cancelled'],
  ['cancelled', 'install', 'active'],
  ['cancelled', 'uninstall', null],
  ['cancelled', 'payment-deleted', null],
] as const)('a subscription that is %s: %s leads to %s', (from, verb, to) => {
  expect(outcome(() => subscriptionAfter(from, verb))).toBe(to)
})

test.each([
  ['flat-monthly', 49, 'priceCents'],
  ['flat-monthly', 50, undefined],
  ['flat-monthly', 100_000, undefined],
  ['flat-monthly', 100_001, 'priceCents'],
  ['per-active-user', 0, 'priceCents'],
  ['per-active-user', 1, undefined],
  ['per-active-user', 10_000, undefined],
  ['per-active-user', 10_001, 'priceCents'],
  ['flat-monthly', null, 'priceCents'],
  [null, 5, 'priceModel'],
  [null, null, undefined],
] as const)('a price of %s %s has a fault in %s', (priceModel, priceCents, path) => {
  const bundle = { manifest: { moduleKey: 'attendance', featureFlag: 'attendance', permissions: [] } }
  const texts = { name: 'App', description: '', iconEmoji: '👩‍🏫', category: 'other', vendorName: 'Ann', vendorEmail: 'ann@vendor.example' }
  const price = Object.fromEntries(Object.entries({ priceModel, priceCents }).filter(([, value]) => value !== null))
  const read = marketplacePublicContract.submitItem.body.safeParse({ itemType: 'app', ...texts, bundle, ...price })
  expect(read.error?.issues[0]?.path[0]).toBe(path)
})

test('an update is offered for a greater version of an active subscription', () => {
  expect(hasUpdate({ status: 'active', installedVersion: '1.9.0' }, { status: 'published', version: '1.10.0' })).toBe(true)
  for (const status of ['draft', 'archived'] as const)
    expect(hasUpdate({ status: 'active', installedVersion: '1.9.0' }, { status, version: '1.10.0' })).toBe(false)
  expect(hasUpdate({ status: 'active', installedVersion: '1.10.0' }, { status: 'published', version: '1.10.0' })).toBe(false)
  expect(hasUpdate({ status: 'cancelled', installedVersion: '1.0.0' }, { status: 'published', version: '2.0.0' })).toBe(false)
})

test('a slug has at most 80 lower-case letters, digits and single dashes', () => {
  expect(slugOf('  Größe & Maß!  ')).toBe('grosse-mass')
  expect(slugOf('日本')).toBe('item')
  const long = slugOf(`${'a'.repeat(79)} b`)
  expect(long).toBe('a'.repeat(79))
  const taken = new Set([long])
  for (let n = 0; n < 12; n++) taken.add(freeSlug(long, taken))
  expect([...taken].every((slug) => slug.length <= 80)).toBe(true)
  expect(taken).toContain(`${'a'.repeat(77)}-13`)
})

test('a monthly price is at least what the provider charges in its currency', () => {
  const flat = (priceCents: number) => ({ priceModel: 'flat-monthly', priceCents }) as const
  for (const [currency, least] of [
    ['eur', 50],
    ['sek', 300],
    ['nok', 300],
    ['dkk', 250],
    ['czk', 1500],
  ] as const) {
    assertCharged(flat(least), currency)
    expect(() => assertCharged(flat(least - 1), currency)).toThrow(`must be at least ${least} cents`)
  }
  assertCharged({ priceModel: 'per-active-user', priceCents: 1 }, 'sek')
  assertCharged({ priceModel: null, priceCents: null }, 'sek')
})

test('each mail says what to do next, and escapes texts of people', () => {
  const urls = { statusUrl: 'https://p/s', confirmUrl: 'https://p/c?a=1&b=2', repeatUrl: 'https://p/r' }
  const approval = { isListed: true, needsAccount: false, keptPrice: null }
  const facts = { submissionId: 'sbm_1', name: '<i>', vendorName: 'Ann', notes: '<script>', approval, ...urls }
  for (const [kind, next] of [
    ['receipt', 'confirm'],
    ['approved', 'There is nothing more to do'],
    ['rejected', 'You can send a new submission'],
    ['needs-changes', "curl -X PUT -H 'content-type: application/json' -d @submission.json 'https://p/r'"],
  ] as const) {
    const { text, html } = submissionMail(kind, facts)
    expect(text).toContain(next)
    expect(html).not.toMatch(/<i>|<script>|a=1&b=2/)
  }
  const keptPrice = { priceModel: 'per-active-user', priceCents: 205, currency: 'eur' } as const
  const { text } = submissionMail('approved', { ...facts, approval: { isListed: true, needsAccount: true, keptPrice } })
  expect(text).toContain('Its price did not change: 2.05 EUR a month for each active user.')
  expect(text).toContain('once your payment account is complete')
})
