import { expect, test } from 'vitest'
import { sha256Hex } from '../../../src/core/kit/index.ts'
import { namedObjects, someObjects } from '../../../src/daemon/app/index.ts'
import { deleteOldSubmissions } from '../../../src/daemon/marketplace/delete-old-submissions.ts'
import { mayMailLink } from '../../../src/daemon/marketplace/intake.ts'
import { deleteOldScreenshots } from '../../../src/daemon/marketplace/screenshots.ts'
import { deleteEndedSessions } from '../../../src/daemon/marketplace/vendor-links.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aPng } from '../../support/images.ts'
import { aMarketplaceWorld, anApp, aSubmission, type MarketplaceWorld, objectsInMemory } from '../../support/marketplace-world.ts'
import { type Asked, type Headers, rawCall } from '../../support/raw-call.ts'
import { codeOf } from '../../support/tasks-world.ts'

const ann = 'ann@vendor.example'
const ownPage = { 'x-tenantry-vendor': '1', 'sec-fetch-site': 'same-origin' }
const hourMs = 3_600_000
const signal = new AbortController().signal

/** The content of a submission, without its sender. */
const content = (changed: object = {}) => {
  const { vendorName: _, vendorEmail: __, ...rest } = aSubmission({ version: '1.1.0', ...changed })
  return rest as never
}

const picture = (bytes: Uint8Array<ArrayBuffer>) => ({ content: new Blob([bytes]), fileName: 'shot.png' })

const confirmLinkOf = ({ mails }: MarketplaceWorld, id: string) => {
  const receipt = mails.find(({ subject }) => subject.endsWith(id))
  return new URL(/https:\S+confirm\S+/.exec(receipt?.text ?? '')?.[0] as string).searchParams.get('token') as string
}

onBothDialects('accounts of vendors', (fresh) => {
  test('a link of a mail opens one session, within half an hour, and tells nobody whether there is an account', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { vendorId } = await room.published()
    await room.runJobs()
    const before = room.mails.length
    for (const email of ['nobody@vendor.example', 'Ann@Vendor.example'])
      expect(await room.stranger.sendVendorLink({ body: { email } })).toBeUndefined()
    await room.runJobs()
    const mails = room.mails.slice(before)
    expect(mails.map(({ to }) => to)).toEqual([ann])
    expect(JSON.stringify(mails)).not.toMatch(/Visitors|Ann"/)
    expect(await room.db.selectFrom('vendor_links').select('email').execute()).toEqual([{ email: ann }])

    const token = /open\?token=(\S+)/.exec(mails[0]?.text ?? '')?.[1] as string
    const [id, proof] = token.split('.') as [string, string]
    for (const wrong of ['x', id, `${id}.`, `${id}.${proof.slice(1)}`, `vln_other.${proof}`, `${token}.${proof}x`.slice(1)]) {
      expect(await codeOf(room.stranger.openVendorSession({ body: { token: wrong } }))).toBe('LINK_INVALID')
      await room.clock.advance(1000)
    }
    const opened = await room.stranger.openVendorSession({ body: { token } })
    await room.clock.advance(1000)
    expect(opened).toMatchObject({ email: ann, token: expect.stringMatching(/^vst_[\w-]{43}$/) })
    expect(await codeOf(room.stranger.openVendorSession({ body: { token } }))).toBe('LINK_INVALID')
    const [stored] = await room.db.selectFrom('vendor_sessions').selectAll().execute()
    expect(stored).toMatchObject({ email: ann, token_hash: sha256Hex(opened.token ?? ''), expires_at: opened.expiresAt })
    expect(JSON.stringify(stored)).not.toContain(opened.token)
    const audited = room.db.selectFrom('audit').select('data').where('action', '=', 'marketplace.vendor-session-opened')
    expect((await audited.execute()).map(({ data }) => JSON.parse(data as string))).toEqual([
      { sessionId: stored?.id, vendorIds: [vendorId] },
    ])

    const late = await room.vendor(ann)
    await room.stranger.sendVendorLink({ body: { email: ann } })
    await room.runJobs()
    const unused = /open\?token=(\S+)/.exec(room.mails.at(-1)?.text ?? '')?.[1] as string
    await room.clock.advance(30 * 60_000)
    expect(await codeOf(room.stranger.openVendorSession({ body: { token: unused } }))).toBe('LINK_INVALID')
    expect((await late.showVendorAccount({})).email).toBe(ann)
    await room.clock.advance(8 * hourMs)
    expect(await codeOf(late.showVendorAccount({}))).toBe('UNAUTHENTICATED')
    await deleteEndedSessions(room, signal)
    expect(await room.db.selectFrom('vendor_sessions').selectAll().execute()).toEqual([])
    expect(await room.db.selectFrom('vendor_links').selectAll().execute()).toEqual([])
  })

  test('a session ends by itself being closed, and only its own token opens it', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await room.published()
    const account = await room.vendor(ann)
    const asked = (authorization: string) => fetch(`${room.url}/api/vendor/v1/account`, { headers: { authorization } })
    for (const wrong of ['', 'Bearer ', 'Bearer mia', account.authorization.slice(0, -1), `${account.authorization}A`])
      expect((await asked(wrong)).status).toBe(401)
    const [session] = await room.db.selectFrom('vendor_sessions').select('token_hash').execute()
    expect((await asked(`Bearer ${session?.token_hash}`)).status).toBe(401)
    expect((await asked(account.authorization)).status).toBe(200)
    await account.closeVendorSession({})
    expect((await asked(account.authorization)).status).toBe(401)
  })

  /** The page of vendors after the button of a link. */
  async function aPage() {
    const room = await aMarketplaceWorld(await fresh())
    await room.published()
    const mailed = async () => {
      await room.stranger.sendVendorLink({ body: { email: ann } })
      await room.runJobs()
      return /\/vendor\/open\?token=(\S+)/.exec(room.mails.at(-1)?.text ?? '')?.[1] as string
    }
    const first = await mailed()
    const call = (path: string, asked: Asked = {}) => rawCall(`${room.url}/api/vendor/v1${path}`, { headers: ownPage, ...asked })
    const open = async (headers: Headers = ownPage, token = first) => {
      await room.clock.advance(1000)
      return call('/page-sessions', { method: 'POST', headers, body: { token } })
    }
    return { room, call, open, mailed }
  }

  test('the button of a link gives the page a cookie that no script reads, for eight hours', async () => {
    const { room, call, open } = await aPage()
    const { status, cookie, body } = await open()
    expect([status, Object.keys(body).toSorted(), body.email]).toEqual([200, ['email', 'expiresAt'], ann])
    expect(cookie).toMatch(/^__Host-tenantry-vendor=vst_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=28800$/)
    expect(await open()).toMatchObject({ code: 'LINK_INVALID', cookie: undefined })
    const headers = { ...ownPage, cookie: cookie?.split(';')[0] ?? '' }
    expect((await call('/account', { headers })).body).toMatchObject({ email: ann })
    const ended = await call('/session', { method: 'DELETE', headers })
    expect([ended.status, ended.cookie]).toEqual([204, expect.stringMatching(/^__Host-tenantry-vendor=; Max-Age=0/)])
    expect((await call('/account', { headers })).status).toBe(401)
    expect(await room.db.selectFrom('vendor_sessions').selectAll().execute()).toEqual([])
  })

  test('another link ends the session that its cookie replaces', async () => {
    const { room, call, open, mailed } = await aPage()
    const headers = { ...ownPage, cookie: (await open()).cookie?.split(';')[0] ?? '' }
    await room.clock.advance(60_000)
    const next = await open(headers, await mailed())
    expect(next.status).toBe(200)
    expect((await call('/account', { headers })).status).toBe(401)
    expect((await call('/account', { headers: { ...ownPage, cookie: next.cookie?.split(';')[0] ?? '' } })).status).toBe(200)
  })

  test('a session of the page ends after eight hours, also in use', async () => {
    const { room, call, open } = await aPage()
    const headers = { ...ownPage, cookie: (await open()).cookie?.split(';')[0] ?? '' }
    await room.clock.advance(8 * hourMs - 1000)
    expect((await call('/account', { headers })).status).toBe(200)
    await room.clock.advance(1000)
    expect((await call('/account', { headers })).status).toBe(401)
  })

  test('another site opens no session and spends no link', async () => {
    const { room, open } = await aPage()
    const refused: Headers[] = [
      {},
      { 'sec-fetch-site': 'same-origin' },
      { ...ownPage, 'sec-fetch-site': 'cross-site' },
      { 'x-tenantry-vendor': '1', origin: 'https://evil.example' },
      { ...ownPage, host: 'rebound.example' },
    ]
    for (const headers of refused) expect(await open(headers)).toMatchObject({ status: 403, code: 'FORBIDDEN', cookie: undefined })
    expect(await room.db.selectFrom('vendor_sessions').selectAll().execute()).toEqual([])
    expect((await open()).status).toBe(200)
  })

  test('the cookie counts for calls of the page alone, and opens nothing of users', async () => {
    const { room, call, open } = await aPage()
    const cookie = (await open()).cookie?.split(';')[0] ?? ''
    const headers = { ...ownPage, cookie }
    const refused: Headers[] = [
      { cookie },
      { ...headers, 'sec-fetch-site': 'same-site' },
      { 'x-tenantry-school': '1', 'sec-fetch-site': 'same-origin', cookie },
      { 'x-tenantry-vendor': '1', origin: 'https://evil.example', cookie },
    ]
    for (const one of refused) expect(await call('/account', { headers: one })).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
    expect(await call('/account', { headers: { ...headers, authorization: 'Bearer vst_x' } })).toMatchObject({
      status: 400,
      code: 'VALIDATION',
    })
    expect(await call('/account', { headers: { ...headers, host: 'rebound.example' } })).toMatchObject({ status: 403, code: 'FORBIDDEN' })
    expect((await rawCall(`${room.url}/api/platform/v1/marketplace/items`, { headers })).status).toBe(401)
    await room.clock.advance(1000)
    // A program opens its account by its token, beside the page.
    const { authorization } = await room.vendor(ann)
    expect((await call('/account', { headers: { authorization } })).status).toBe(200)
  })

  test('links are limited by where they are asked from, and mails by the address, without a word of it', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await room.published()
    await room.runJobs()
    const before = room.mails.length
    const ask = () => room.stranger.sendVendorLink({ body: { email: ann } })
    for (let nth = 0; nth < 5; nth++) {
      await ask()
      await room.clock.advance(1000)
    }
    await expect(ask()).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) })
    await room.runJobs()
    await room.clock.advance(hourMs)
    expect(await ask()).toBeUndefined()
    await room.runJobs()
    expect(room.mails.length - before).toBe(5)
    expect(await room.db.selectFrom('vendor_links').select('id').execute()).toHaveLength(5)
  })

  test('links that a stranger asks for leave those of the owner, until thirty a day', async () => {
    const { db, deps, clock } = await aMarketplaceWorld(await fresh())
    const asked = (address: string, email = ann) => db.transaction().execute((tx) => mayMailLink(deps, tx, { email, address }))
    const sent = async (address: string) => [...(await Promise.all([1, 2, 3, 4, 5, 6].map(() => asked(address))))].filter(Boolean).length
    expect(await sent('192.0.2.1')).toBe(5)
    // Another address of the same network, and the owner elsewhere.
    expect(await asked('192.0.2.77')).toBe(false)
    expect(await asked('198.51.100.1')).toBe(true)
    for (let nth = 1; nth <= 4; nth++) expect(await sent(`2001:db8:${nth}::1`)).toBe(5)
    expect(await sent('2001:db8:5::1')).toBe(4)
    expect(await asked('203.0.113.1')).toBe(false)
    expect(await asked('203.0.113.1', 'app@vendor.example')).toBe(true)
    await clock.advance(24 * hourMs)
    expect(await asked('192.0.2.1')).toBe(true)
  })

  test('three submissions of one address make one vendor, however they were confirmed', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const sent: string[] = []
    for (const name of ['One', 'Two', 'Three', 'Four'])
      sent.push(
        (await room.stranger.submitItem({ body: aSubmission({ name, vendorEmail: name === 'Two' ? 'ANN@vendor.example' : ann }) }))
          .submissionId,
      )
    const [one = '', two = '', three = '', four = ''] = sent
    await room.runJobs()
    const approved = async (id: string) => (await room.operator.approveMarketplaceSubmission({ params: { id }, body: {} })).vendorId
    await room.stranger.confirmVendorAddress({ params: { id: one }, query: { token: confirmLinkOf(room, one) } })
    const first = await approved(one)
    await room.clock.advance(1000)
    // Not confirmed: it must not take the name of the first.
    const second = await approved(two)
    const third = await approved(three)
    expect(second).not.toBe(first)
    expect(third).toBe(second)

    const account = await room.vendor(ann)
    const { submissions } = await account.listVendorSubmissions({})
    expect(submissions.map(({ name, confirmed }) => `${name} ${confirmed}`).toSorted()).toEqual([
      'Four false',
      'One true',
      'Three false',
      'Two false',
    ])
    expect(await account.confirmSubmission({ params: { id: two } })).toMatchObject({ confirmed: true, status: 'approved' })
    await account.confirmSubmission({ params: { id: two } })
    await account.confirmSubmission({ params: { id: four } })
    expect(await approved(four)).toBe(first)
    // The third came along: nobody but strangers stood for the vendor that it was in.
    const { vendors } = await account.showVendorAccount({})
    expect(vendors.map(({ id }) => id)).toEqual([first])
    expect(JSON.stringify(vendors)).not.toContain('@')
    const { items } = await account.listVendorItems({})
    expect(items.map(({ name, vendorId }) => `${name} ${vendorId === first}`).toSorted()).toEqual([
      'Four true',
      'One true',
      'Three true',
      'Two true',
    ])
    expect((await room.operator.listVendors({})).vendors).toHaveLength(1)
    expect(await room.operator.showVendor({ params: { id: first } })).toMatchObject({
      contactEmail: ann,
      items: { length: 4 },
      submissions: { length: 4 },
    })
    expect((await room.audited()).filter((action) => action === 'marketplace.address-proven')).toHaveLength(3)
  })

  test('a vendor that an operator made stays, with its own items', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { id } = await room.operator.createVendor({ body: { name: 'Ann', contactEmail: ann } })
    const item = await room.published()
    expect(item.vendorId).not.toBe(id)
    const account = await room.vendor(ann)
    expect((await account.showVendorAccount({})).vendors.map((one) => one.id)).toEqual([id, item.vendorId])
    const [submission] = (await account.listVendorSubmissions({})).submissions
    await account.confirmSubmission({ params: { id: submission?.id ?? '' } })
    expect((await account.showVendorAccount({})).vendors.map((one) => one.id)).toEqual([id])
  })

  test('a new version is reviewed for its item, with its screenshots', async () => {
    const objects = objectsInMemory()
    const room = await aMarketplaceWorld(await fresh(), { deps: { objects } })
    const item = await room.published(aSubmission({ name: 'Doors' }))
    const account = await room.vendor(ann)
    const params = { id: item.id }
    const submit = (changed: object = {}) => account.submitVersion({ params, body: content(changed) })
    expect(await codeOf(submit({ version: '1.0.0' }))).toBe('VERSION_EXISTS')
    expect(await codeOf(submit({ itemType: 'app', bundle: anApp().bundle }))).toBe('VALIDATION')
    expect(await codeOf(account.submitVersion({ params, body: aSubmission({ version: '1.1.0' }) as never }))).toBe('VALIDATION')
    await room.clock.advance(1000)
    const sent = await submit({ name: 'Gates', description: 'Opens doors.', priceModel: 'flat-monthly', priceCents: 900 })
    expect(sent).toMatchObject({ name: 'Doors', status: 'pending', confirmed: true, itemId: item.id, version: '1.1.0' })
    expect(await codeOf(submit({ version: '1.2.0' }))).toBe('CONFLICT')

    const add = (bytes: Uint8Array<ArrayBuffer>) => account.addScreenshot({ params: { id: sent.id }, upload: picture(bytes) })
    const shot = await add(aPng(640, 480))
    expect(shot).toMatchObject({ contentType: 'image/png', width: 640, height: 480 })
    const other = await add(aPng(200, 300))
    for (const wrong of [
      new Uint8Array(0),
      Buffer.from('<svg onload="alert(1)"/>'),
      Buffer.from('<!doctype html>'),
      aPng(640, 480).slice(0, 40),
    ])
      expect(await codeOf(add(new Uint8Array(wrong)))).toBe('VALIDATION')
    expect(await codeOf(add(aPng(9000, 480)))).toBe('VALIDATION')
    expect(await codeOf(add(new Uint8Array(1024 * 1024 + 1)))).toBe('PAYLOAD_TOO_LARGE')
    await account.deleteScreenshot({ params: { id: sent.id, screenshotId: other.id } })
    expect(await codeOf(account.deleteScreenshot({ params: { id: sent.id, screenshotId: other.id } }))).toBe('NOT_FOUND')
    expect(objects.keys()).toEqual([`marketplace/${shot.id}`])
    expect(await someObjects(room.db)).toEqual(objects.keys())
    expect(await namedObjects(room.db)).toEqual([{ key: `marketplace/${shot.id}`, sha256: sha256Hex(aPng(640, 480)) }])

    const shown = await room.operator.showMarketplaceSubmission({ params: { id: sent.id } })
    expect(shown).toMatchObject({ forItem: { id: item.id, version: '1.0.0' }, proven: true, round: 4, screenshots: [{ id: shot.id }] })
    // A reviewer who read it before the screenshots approves something else.
    expect(await codeOf(room.operator.approveMarketplaceSubmission({ params: { id: sent.id }, body: { round: 1 } }))).toBe('CONFLICT')
    const status = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`${room.url}${path}${shot.id}`, { headers })).status
    expect(await status('/api/public/marketplace/screenshots/')).toBe(404)
    expect(await status('/api/vendor/v1/screenshots/', { authorization: account.authorization })).toBe(200)
    const reviewed = await fetch(`${room.url}/api/admin/marketplace/screenshots/${shot.id}`)
    expect(reviewed.headers.get('content-type')).toBe('image/png')
    expect(reviewed.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(Buffer.from(await reviewed.arrayBuffer())).toEqual(aPng(640, 480))

    await room.operator.requestMarketplaceChanges({ params: { id: sent.id }, body: { reason: 'Say more.' } })
    const revised = await account.reviseSubmission({ params: { id: sent.id }, body: content({ description: 'Opens all doors.' }) })
    expect(revised).toMatchObject({ status: 'pending', reviewNotes: 'Say more.' })
    expect(await codeOf(account.reviseSubmission({ params: { id: sent.id }, body: content() }))).toBe('INVALID_TRANSITION')
    const { item: next } = await room.operator.approveMarketplaceSubmission({ params: { id: sent.id }, body: { round: 5 } })
    expect(next).toMatchObject({
      id: item.id,
      name: 'Doors',
      version: '1.1.0',
      description: 'Opens all doors.',
      priceModel: null,
      screenshots: [shot.id],
    })
    const headersOf = async (path: string) => {
      const { headers } = await fetch(`${room.url}${path}${shot.id}`, { headers: { authorization: account.authorization } })
      return [headers.get('cache-control'), headers.get('cross-origin-resource-policy')]
    }
    expect(await headersOf('/api/public/marketplace/screenshots/')).toEqual(['public, max-age=86400', 'cross-origin'])
    for (const path of ['/api/vendor/v1/screenshots/', '/api/admin/marketplace/screenshots/'])
      expect((await headersOf(path))[0]).toBe('private, no-cache')
    expect(await status('/api/public/marketplace/screenshots/')).toBe(200)
    expect(await codeOf(add(aPng(640, 480)))).toBe('INVALID_TRANSITION')
    const detail = await account.showVendorItem({ params })
    expect(detail.versions.map(({ version, status: state }) => `${version} ${state}`)).toEqual(['1.1.0 approved', '1.0.0 approved'])
    // The next version without any keeps them.
    await room.clock.advance(hourMs)
    const third = await submit({ version: '1.2.0' })
    expect((await room.operator.approveMarketplaceSubmission({ params: { id: third.id }, body: {} })).item.screenshots).toEqual([shot.id])
    await room.operator.changeItem({ params, body: { status: 'archived' } })
    expect(await status('/api/public/marketplace/screenshots/')).toBe(404)
  })

  test('a submission has at most six screenshots, and loses them with itself', async () => {
    const objects = objectsInMemory()
    const room = await aMarketplaceWorld(await fresh(), { deps: { objects } })
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission() })
    const account = await room.vendor(ann)
    const add = () => account.addScreenshot({ params: { id }, upload: picture(aPng(100, 100)) })
    expect(await codeOf(add())).toBe('CONFLICT')
    await account.confirmSubmission({ params: { id } })
    for (let nth = 0; nth < 6; nth++) {
      await add()
      await room.clock.advance(1000)
    }
    await expect(add()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('delete one first') })
    await room.operator.rejectMarketplaceSubmission({ params: { id }, body: { reason: 'It copies.' } })
    await deleteOldScreenshots(room.deps, signal)
    expect(objects.keys()).toHaveLength(6)
    await room.clock.advance(366 * 24 * hourMs)
    await deleteOldSubmissions(room, signal)
    await deleteOldScreenshots(room.deps, signal)
    expect(objects.keys()).toEqual([])
    expect(await room.db.selectFrom('marketplace_screenshots').selectAll().execute()).toEqual([])
  })

  test('screenshots of a submission change thirty times an hour, and leave one reminder of its review', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission() })
    await room.clock.advance(23 * hourMs)
    const account = await room.vendor(ann)
    await account.confirmSubmission({ params: { id } })
    const add = () => account.addScreenshot({ params: { id }, upload: picture(aPng(100, 100)) })
    for (let nth = 0; nth < 15; nth++) {
      await account.deleteScreenshot({ params: { id, screenshotId: (await add()).id } })
      await room.clock.advance(1000)
    }
    await expect(add()).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) })
    const reminders = () => room.db.selectFrom('jobs').select('id').where('topic', '=', 'marketplace.review-due').execute()
    expect(await reminders()).toHaveLength(1)
    const alerts = () => room.db.selectFrom('alerts').select('kind').execute()
    for (const [hours, count] of [
      [1, 0],
      [22, 0],
      [1, 1],
    ] as const) {
      await room.clock.advance(hours * hourMs)
      await room.runJobs()
      expect(await alerts()).toHaveLength(count)
    }
    expect(await reminders()).toEqual([])
  })

  test('a store that fails leaves no screenshot', async () => {
    const objects = objectsInMemory()
    let isAway = true
    const put: typeof objects.put = (key, bytes) => {
      if (isAway) throw Object.assign(new Error('away'))
      return objects.put(key, bytes)
    }
    const room = await aMarketplaceWorld(await fresh(), { deps: { objects: { ...objects, put } } })
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission() })
    const account = await room.vendor(ann)
    await account.confirmSubmission({ params: { id } })
    const add = () => account.addScreenshot({ params: { id }, upload: picture(aPng(100, 100)) })
    for (let nth = 0; nth < 6; nth++) expect(await codeOf(add())).toBe('INTERNAL')
    expect(await codeOf(add())).toBe('CONFLICT')
    isAway = false
    expect((await account.showVendorSubmission({ params: { id } })).screenshots).toEqual([])
    await room.clock.advance(5 * 60_000)
    await add()
    await room.clock.advance(hourMs + 1)
    await deleteOldScreenshots(room.deps, signal)
    expect(await room.db.selectFrom('marketplace_screenshots').select('state').execute()).toEqual([{ state: 'stored' }])
  })

  test('a withdrawn item is neither listed nor installed nor updated; those that have it keep it', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const item = await room.published()
    const mia = room.as('mia')
    await mia.installMarketplaceItem({ params: { id: item.id } })
    await room.db
      .updateTable('users')
      .set({ email: 'mia@one.example', locale: 'de', roles: '["tenant-admin"]' })
      .where('id', '=', 'mia')
      .execute()
    const account = await room.vendor(ann)
    const waiting = await account.submitVersion({ params: { id: item.id }, body: content() })
    expect(await account.withdrawItem({ params: { id: item.id } })).toMatchObject({ status: 'archived', installations: 1 })
    const { withdrawnAt } = await account.withdrawItem({ params: { id: item.id } })
    expect(withdrawnAt).not.toBeNull()
    expect((await room.audited()).filter((action) => action === 'marketplace.item-withdrawn')).toHaveLength(1)
    for (const _ of ['those who have it', 'their mails']) await room.runJobs()
    const notified = room.mails.filter(({ subject }) => subject === `${item.name} wird nicht mehr angeboten`)
    expect(notified.map(({ to }) => to)).toEqual(['mia@one.example'])
    expect(notified[0]?.text).toMatch(/Es bleibt installiert, bis Sie es entfernen\.\n\nIhre Module: http\S+\/school\/modules\n$/)
    expect((await room.as('olga').listMarketplaceItems({})).items).toEqual([])
    expect(await codeOf(room.as('olga').installMarketplaceItem({ params: { id: item.id } }))).toBe('NOT_FOUND')
    expect((await mia.listMarketplaceSubscriptions({})).subscriptions).toMatchObject([
      { status: 'active', withdrawn: true, paidUntil: null },
    ])
    expect(await codeOf(account.submitVersion({ params: { id: item.id }, body: content({ version: '1.2.0' }) }))).toBe('CONFLICT')
    expect(await codeOf(room.operator.approveMarketplaceSubmission({ params: { id: waiting.id }, body: {} }))).toBe('CONFLICT')
    expect((await room.operator.changeItem({ params: { id: item.id }, body: { status: 'published' } })).withdrawnAt).toBeNull()
    expect((await room.operator.approveMarketplaceSubmission({ params: { id: waiting.id }, body: {} })).item.version).toBe('1.1.0')
  })

  test('lists and pictures read no bundle, which has up to 1 MB', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const item = await room.published()
    const account = await room.vendor(ann)
    const params = { id: item.id }
    const sent = await account.submitVersion({ params, body: content() })
    const shot = await account.addScreenshot({ params: { id: sent.id }, upload: picture(aPng(100, 100)) })
    await room.operator.approveMarketplaceSubmission({ params: { id: sent.id }, body: { round: 2 } })
    await room.clock.advance(hourMs)
    const waiting = await account.submitVersion({ params, body: content({ version: '1.2.0' }) })
    await room.db.updateTable('marketplace_submissions').set({ bundle: 'no JSON' }).execute()
    expect((await account.listVendorSubmissions({})).submissions).toHaveLength(3)
    expect((await account.showVendorSubmission({ params: { id: waiting.id } })).version).toBe('1.2.0')
    expect((await account.showVendorItem({ params })).versions).toHaveLength(3)
    expect(await codeOf(account.submitVersion({ params, body: content({ version: '1.3.0' }) }))).toBe('CONFLICT')
    await account.addScreenshot({ params: { id: waiting.id }, upload: picture(aPng(100, 100)) })
    expect((await room.operator.listMarketplaceSubmissions({})).submissions).toHaveLength(3)
    expect((await room.stranger.showSubmissionState({ params: { id: sent.id } })).status).toBe('approved')
    await room.db.updateTable('marketplace_items').set({ bundle: 'no JSON' }).execute()
    for (const path of ['/api/public/marketplace/screenshots/', '/api/vendor/v1/screenshots/'])
      expect((await fetch(`${room.url}${path}${shot.id}`, { headers: { authorization: account.authorization } })).status).toBe(200)
  })

  test('nothing of another vendor is found: items, submissions, screenshots and versions', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const item = await room.published()
    const app = await room.published(anApp({ vendorEmail: 'app@vendor.example' }))
    const account = await room.vendor(ann)
    const sent = await account.submitVersion({ params: { id: item.id }, body: content() })
    const shot = await account.addScreenshot({ params: { id: sent.id }, upload: picture(aPng(100, 100)) })
    const eve = await room.vendor('app@vendor.example')
    expect((await eve.listVendorItems({})).items.map(({ id }) => id)).toEqual([app.id])
    expect((await eve.listVendorSubmissions({})).submissions).toHaveLength(1)
    const [own] = (await eve.listVendorSubmissions({})).submissions
    await eve.confirmSubmission({ params: { id: own?.id ?? '' } })
    const upload = picture(aPng(100, 100))
    const calls = [
      () => eve.showVendorItem({ params: { id: item.id } }),
      () => eve.submitVersion({ params: { id: item.id }, body: content({ version: '9.0.0' }) }),
      () => eve.withdrawItem({ params: { id: item.id } }),
      () => eve.showVendorSubmission({ params: { id: sent.id } }),
      () => eve.confirmSubmission({ params: { id: sent.id } }),
      () => eve.reviseSubmission({ params: { id: sent.id }, body: content() }),
      () => eve.addScreenshot({ params: { id: sent.id }, upload }),
      () => eve.deleteScreenshot({ params: { id: sent.id, screenshotId: shot.id } }),
      () => eve.deleteScreenshot({ params: { id: own?.id ?? '', screenshotId: shot.id } }),
      () => eve.readOwnScreenshot({ params: { id: shot.id } }),
    ]
    const codes: (string | undefined)[] = []
    for (const call of calls) codes.push(await codeOf(call()))
    // The submission of the app is approved, so its screenshots are refused before any is looked for.
    expect(codes).toEqual(calls.map((_, nth) => (nth === 8 ? 'INVALID_TRANSITION' : 'NOT_FOUND')))
    const { cursor } = { cursor: 'x' }
    expect(await codeOf(eve.listVendorItems({ query: { cursor } }))).toBe('VALIDATION')
    // An operator gave the vendor another address: the former one has lost it at once.
    await room.operator.changeVendor({ params: { id: item.vendorId ?? '' }, body: { contactEmail: 'app@vendor.example' } })
    expect((await account.listVendorItems({})).items).toEqual([])
    expect(await codeOf(account.withdrawItem({ params: { id: item.id } }))).toBe('NOT_FOUND')
    expect((await eve.listVendorItems({})).items).toHaveLength(2)
    expect((await eve.showVendorItem({ params: { id: item.id } })).versions.map(({ version }) => version)).toEqual(['1.0.0'])
    // The version that the former address sent cannot join the vendor any more.
    expect(await codeOf(room.operator.approveMarketplaceSubmission({ params: { id: sent.id }, body: { round: 2 } }))).toBe('CONFLICT')
  })
})
