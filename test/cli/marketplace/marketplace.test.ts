import { describe, expect, test } from 'vitest'
import { bundleOf } from '../../../src/core/boards/index.ts'
import type { Item, Submission, Vendor } from '../../../src/core/marketplace/index.ts'
import { sketch } from '../../core/boards/sketch.ts'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const base = '/api/admin/marketplace'
const red = '\u001b[31m'
const created = { createdAt: at('00:00:00'), updatedAt: at('00:00:00') }
const item: Item = {
  ...{ id: 'itm_1', itemType: 'flow', slug: 'visits', name: `Visits${red}`, description: '', iconEmoji: '', category: 'tools' },
  ...{ vendorName: 'Acme', vendorId: 'vnd_1', version: '1.0.0', priceModel: 'flat-monthly', priceCents: 1205, currency: 'eur' },
  ...{ screenshots: [], publishedAt: null, status: 'published', paymentProductId: null, paymentPriceId: null },
  ...{ isSeed: false, withdrawnAt: null, changedByAdmin: false, ...created },
}
const vendor: Vendor = {
  ...{ id: 'vnd_1', name: 'Acme', contactEmail: 'pay@acme.example', country: 'DE', paymentAccountId: 'acct_1' },
  ...{ paymentAccountStatus: 'active', chargesEnabled: true, payoutsEnabled: true, applicationFeePercent: 12.5, ...created },
}
const submission: Submission = {
  ...{ id: 'sbm_1', itemType: 'app', name: 'Visits', category: 'tools', version: '1.1.0', vendorName: 'Acme', proven: true },
  ...{ vendorEmail: 'pay@acme.example', priceModel: null, priceCents: null, currency: null, status: 'pending', ...created },
  ...{ description: `Welcomes${red}`, iconEmoji: '', vendorCountry: 'DE', vendorId: null, vendors: [], bundle: {}, round: 2 },
  ...{
    forItem: null,
    screenshots: [],
    warnings: ['No module yet'],
    reviewNotes: null,
    reviewedAt: null,
    reviewedBy: null,
    approvedItemId: null,
  },
}
const run = (args: string[], answers: Record<string, unknown> = {}) => tenantry(['marketplace', ...args], { answers })

describe('tenantry marketplace items', () => {
  test('lists items with their prices, as a table and as JSON', async () => {
    const answers = { [`GET ${base}/items`]: { items: [item], nextCursor: 'c' } }
    const ran = await run(['items', 'list', '--status', 'published'], answers)
    expect(ran.asked[0]?.search).toBe('?status=published')
    expect(ran.stdout).toMatch(/ITEM +SLUG .*STATUS +PRICE/)
    expect(ran.stdout).toMatch(/itm_1 +visits .*published +12\.05 EUR a month/)
    expect(ran.stdout).toContain('--cursor c')
    expect(JSON.parse((await run(['items', 'list', '--json'], answers)).stdout)).toEqual({ items: [item], nextCursor: 'c' })
    expect((await run(['items', 'list'], { [`GET ${base}/items`]: { items: [], nextCursor: null } })).stdout).toBe('No items.\n')
  })

  test('changes the price in cents, and says while the provider has none', async () => {
    const answers = { [`PATCH ${base}/items/itm_1`]: item }
    const ran = await run(['items', 'update', 'itm_1', '--price', 'flat-monthly=1205', '--vendor', 'none'], answers)
    expect(ran.asked[0]?.body).toEqual({ priceModel: 'flat-monthly', priceCents: 1205, vendorId: null })
    expect(ran.stdout).toContain('12.05 EUR a month (the provider has no price yet)')
    expect(ran.stdout).not.toContain(red)
    expect(JSON.parse((await run(['items', 'update', 'itm_1', '--price', 'free', '--json'], answers)).stdout)).toEqual(item)
  })

  test.each([
    [['items', 'update', 'itm_1']],
    [['items', 'update', '--price', 'free']],
    [['items', 'update', 'itm_1', '--price', '12.05']],
    [['items', 'remove', 'itm_1']],
    [['submissions', 'reject', 'sbm_1']],
    [['submissions', 'approve']],
    [['submissions', 'read', 'sbm_1']],
    [['vendors', 'create', '--name', 'Acme']],
    [['vendors', 'create', '--name', 'Acme', '--email', 'pay@acme.example']],
    [['vendors', 'update', 'vnd_1']],
    [['vendors', 'update', 'vnd_1', '--fee', '12.555']],
    [['vendors', 'update', 'vnd_1', '--fee', '120']],
    [['vendors', 'sync']],
    [['vendors', 'pay', 'vnd_1']],
  ])('%j is a usage error and asks nothing', async (args) => {
    const ran = await run(args)
    expect([ran.exit, ran.asked]).toEqual([2, []])
  })
})

describe('tenantry marketplace submissions', () => {
  test('lists submissions and shows one with its round and the next command', async () => {
    const listed = { [`GET ${base}/submissions`]: { submissions: [submission], nextCursor: null } }
    const ran = await run(['submissions', 'list'], listed)
    expect(ran.stdout).toMatch(/SUBMISSION +NAME .*MAIL CONFIRMED +STATUS/)
    expect(ran.stdout).toMatch(/sbm_1 +Visits .*free .*Acme +yes +pending/)
    const one = { [`GET ${base}/submissions/sbm_1`]: submission }
    const shown = await run(['submissions', 'show', 'sbm_1'], one)
    expect(shown.stdout).toContain('pending, round 2')
    expect(shown.stdout).toContain('next: tenantry marketplace submissions approve sbm_1 --round 2')
    expect(shown.stdout).not.toContain(red)
    expect(JSON.parse((await run(['submissions', 'show', 'sbm_1', '--json'], one)).stdout)).toEqual(submission)
    const vendors = [{ id: 'vnd_1', name: 'Acme', items: [{ id: 'itm_1', name: `Visits${red}`, version: '1.0.0' }] }]
    const known = await run(['submissions', 'show', 'sbm_1'], { [`GET ${base}/submissions/sbm_1`]: { ...submission, vendors } })
    const approve = 'next: tenantry marketplace submissions approve sbm_1 --round 2'
    expect(known.stdout).toContain(`${approve} --vendor vnd_1 --item itm_1   # next version of Visits`)
    expect(known.stdout).toContain(`${approve} --vendor vnd_1   # a new item of Acme`)
    expect(known.stdout).toContain(`${approve}   # a new item of a new vendor`)
  })

  test('shows an app line by line, and a flow as a table with its forms and texts', async () => {
    const shown = async (more: Partial<Submission>) =>
      (await run(['submissions', 'show', 'sbm_1'], { [`GET ${base}/submissions/sbm_1`]: { ...submission, ...more } })).stdout
    expect(await shown({ bundle: { manifest: { name: `App${red}` } } })).toContain('\n{\n  "manifest": {\n    "name": "App')
    const definition = sketch('s > f1 > m1 > e', { m1: { body: `First line${red}\n  second line` } })
    const bundle = bundleOf({ name: 'Visits', description: '', definition })
    const flow = await shown({ itemType: 'flow', bundle })
    expect(flow).toMatch(/ELEMENT +KIND +LABEL +ROLE +NEXT\n[\s\S]*f1 +form +f1 +teacher +m1\n/)
    expect(flow).toMatch(/Fields of f1:\nFIELD [\s\S]*people +number +yes/)
    expect(flow).toMatch(/Message of m1:\nFirst line.*\n {2}second line\n/)
    expect(flow).not.toContain(red)
  })

  test('approves the round that was read, and sends reasons', async () => {
    const approved = { success: true, status: 'approved', item, vendorId: 'vnd_1' }
    const ran = await run(['submissions', 'approve', 'sbm_1', '--round', '2', '--vendor', 'vnd_1', '--notes', 'Good'], {
      [`POST ${base}/submissions/sbm_1/approve`]: approved,
    })
    expect(ran.asked[0]?.body).toEqual({ round: 2, notes: 'Good', vendorId: 'vnd_1' })
    expect(ran.stdout).toContain('send the vendor a link:\n  tenantry marketplace vendors onboard vnd_1')
    expect(ran.stdout).toContain('Submission sbm_1 is approved. The vendor gets a mail (without a mail server, a file in')
    const refused = await run(['submissions', 'request-changes', 'sbm_1', '--notes', 'Say more'], {
      [`POST ${base}/submissions/sbm_1/request-changes`]: { success: true, status: 'needs-changes' },
    })
    expect([refused.asked[0]?.body, refused.stdout]).toEqual([
      { reason: 'Say more' },
      "Submission sbm_1 is needs-changes. The vendor gets a mail (without a mail server, a file in the daemon's mail folder).\n",
    ])
  })
})

describe('tenantry marketplace vendors', () => {
  test('lists vendors with account and fee, as a table and as JSON', async () => {
    const answers = { [`GET ${base}/vendors`]: { vendors: [vendor], nextCursor: null } }
    expect((await run(['vendors', 'list'], answers)).stdout).toMatch(/vnd_1 +Acme .*active +12\.5 %/)
    expect(JSON.parse((await run(['vendors', 'list', '--json'], answers)).stdout).vendors).toEqual([vendor])
  })

  test('creates, changes and syncs one, and prints the onboarding link', async () => {
    const create = ['vendors', 'create', '--name', 'Acme', '--email', 'pay@acme.example', '--country', 'AT', '--fee', '12.5']
    const ran = await run(create, { [`POST ${base}/vendors`]: vendor })
    expect(ran.asked[0]?.body).toEqual({ name: 'Acme', contactEmail: 'pay@acme.example', country: 'AT', applicationFeePercent: 12.5 })
    expect(ran.stdout).toContain('active (acct_1)')
    const changed = await run(['vendors', 'update', 'vnd_1', '--fee', '5'], { [`PATCH ${base}/vendors/vnd_1`]: vendor })
    expect(changed.asked[0]?.body).toEqual({ applicationFeePercent: 5 })
    const moved = await run(['vendors', 'update', 'vnd_1', '--country', 'AT'], { [`PATCH ${base}/vendors/vnd_1`]: vendor })
    expect(moved.asked[0]?.body).toEqual({ country: 'AT' })
    expect((await run(['vendors', 'sync', 'vnd_1'], { [`POST ${base}/vendors/vnd_1/sync`]: vendor })).stdout).toContain('12.5 %')
    const link = { url: 'https://pay.example/1', expiresAt: at('01:00:00') }
    const onboard = await run(['vendors', 'onboard', 'vnd_1'], { [`POST ${base}/vendors/vnd_1/onboarding-link`]: link })
    expect(onboard.stdout).toContain('https://pay.example/1\nIt works once')
  })
})
