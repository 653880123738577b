import { expect, test } from 'vitest'
import { deleteOldSubmissions } from '../../../src/daemon/marketplace/delete-old-submissions.ts'
import { countSubmission } from '../../../src/daemon/marketplace/intake.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aFlow, aMarketplaceWorld, anApp, aSubmission } from '../../support/marketplace-world.ts'
import { aManifest, approve } from '../../support/modules-world.ts'
import { codeOf } from '../../support/tasks-world.ts'

const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: { code: string; message: string }) => error,
  )
const linkIn = (text: string, part: string) => new URL(/https:\S+/g[Symbol.match](text)?.find((one) => one.includes(part)) as string)

onBothDialects('the intake of the marketplace', (fresh) => {
  test('a year after their rejection, or without an answer, submissions are deleted; others stay', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const ids: string[] = []
    for (const name of ['rejected', 'unanswered', 'approved', 'pending'])
      ids.push((await room.stranger.submitItem({ body: aSubmission({ name }) })).submissionId)
    const [rejected = '', unanswered = '', approved = '', pending = ''] = ids
    await room.operator.rejectMarketplaceSubmission({ params: { id: rejected }, body: { reason: 'It copies.' } })
    await room.operator.requestMarketplaceChanges({ params: { id: unanswered }, body: { reason: 'Say more.' } })
    await room.operator.approveMarketplaceSubmission({ params: { id: approved }, body: {} })
    const kept = async () => {
      await deleteOldSubmissions(room, new AbortController().signal)
      return (await room.operator.listMarketplaceSubmissions({ query: { limit: 10 } })).submissions.map(({ id }) => id)
    }
    await room.clock.advance(365 * 24 * 3_600_000)
    expect((await kept()).toSorted()).toEqual(ids.toSorted())
    await room.clock.advance(1000)
    expect((await kept()).toSorted()).toEqual([approved, pending].toSorted())
  })

  test('a receipt proves the address, a request for changes has a token, and an approval publishes the item', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { submissionId: id, ...state } = await room.stranger.submitItem({ body: aSubmission() })
    expect(id).toMatch(/^sbm_[0-9a-z]{26}$/)
    expect(state).toMatchObject({ status: 'pending', version: '1.0.0', warnings: [] })
    expect(JSON.stringify(await room.stranger.showSubmissionState({ params: { id } }))).not.toContain('@')
    await room.runJobs()
    const [receipt] = room.mails
    expect(receipt).toMatchObject({ to: 'ann@vendor.example', subject: `We received submission ${id}` })
    // Anyone may enter any address.
    expect(`${receipt?.subject} ${receipt?.text} ${receipt?.html}`).not.toMatch(/Visitors|Ann/)
    expect(receipt?.text).toContain('within 2 working days')
    expect((await room.operator.showMarketplaceSubmission({ params: { id } })).proven).toBe(false)
    const token = linkIn(receipt?.text as string, 'confirm').searchParams.get('token') as string
    for (const call of [room.stranger.showAddressConfirmation, room.stranger.confirmVendorAddress])
      expect(await codeOf(call({ params: { id }, query: { token: 'wrong' } }))).toBe('FORBIDDEN')
    expect(await room.stranger.showAddressConfirmation({ params: { id }, query: { token } })).toContain('<form method="post">')
    expect((await room.operator.showMarketplaceSubmission({ params: { id } })).proven).toBe(false)
    for (const _ of [1, 2]) expect(await room.stranger.confirmVendorAddress({ params: { id }, query: { token } })).toMatch(/confirmed/)
    expect(await room.stranger.showAddressConfirmation({ params: { id }, query: { token } })).not.toContain('<form')
    expect((await room.operator.showMarketplaceSubmission({ params: { id } })).proven).toBe(true)

    await room.operator.requestMarketplaceChanges({ params: { id }, body: { reason: 'Say more.' } })
    expect(await codeOf(room.operator.approveMarketplaceSubmission({ params: { id } }))).toBe('INVALID_TRANSITION')
    await room.runJobs()
    const changes = room.mails.at(-1)
    expect(changes?.text).toContain('Say more.')
    const again = linkIn(changes?.text.replaceAll("'", '') as string, '?token=').searchParams.get('token') as string
    const repeat = (body: object, key = again) =>
      room.stranger.repeatSubmission({ params: { id }, query: { token: key }, body: aSubmission(body) })
    expect(await codeOf(repeat({}, token))).toBe('FORBIDDEN')
    expect(await codeOf(repeat({ vendorEmail: 'eve@evil.example' }))).toBe('VALIDATION')
    expect((await repeat({ description: 'More.' })).status).toBe('pending')
    expect(await codeOf(repeat({ description: 'Even more.' }))).toBe('FORBIDDEN')
    // The reviewer read the first round.
    await expect(room.operator.approveMarketplaceSubmission({ params: { id }, body: { notes: 'Good.' } })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('--round 2'),
    })
    const { item } = await room.operator.approveMarketplaceSubmission({ params: { id }, body: { round: 2, notes: 'Good.' } })
    expect(item).toMatchObject({ slug: 'visitors', status: 'published', vendorName: 'Ann', description: 'More.' })
    await room.runJobs()
    expect(room.mails.at(-1)).toMatchObject({ subject: 'Visitors was approved', id: `${id}_approved_2` })
    expect(await room.audited()).toEqual([
      ...['marketplace.address-proven', 'marketplace.submission-needs-changes', 'marketplace.submission-approved'],
    ])
  })

  test('a sixth submission within an hour from one address is refused, until the first is an hour old', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const send = () => room.stranger.submitItem({ body: aSubmission() })
    for (let n = 0; n < 5; n++) {
      await send()
      await room.clock.advance(60_000)
    }
    const refused = (await failure(send())) as { code: string; message: string; retryAfterSeconds?: number }
    expect(refused.code).toBe('RATE_LIMITED')
    expect(refused.message).toContain('retry in 55 min')
    await room.clock.advance(55 * 60_000)
    await send()
    await room.runJobs()
    expect(room.mails, 'as many receipts as one sender may cause in an hour').toHaveLength(5)
  })

  test('an answer to the reviewer is not refused for other submissions of its address, and has a limit of its own', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission() })
    await room.operator.requestMarketplaceChanges({ params: { id }, body: { reason: 'Say more.' } })
    await room.runJobs()
    const token = linkIn(room.mails.at(-1)?.text.replaceAll("'", '') as string, '?token=').searchParams.get('token') as string
    await room.clock.advance(60_000)
    for (let n = 0; n < 4; n++, await room.clock.advance(1_000)) await room.stranger.submitItem({ body: aSubmission() })
    expect(await codeOf(room.stranger.submitItem({ body: aSubmission() }))).toBe('RATE_LIMITED')
    const broken = { templateExport: { ...aFlow().templateExport, edges: [] } }
    const repeat = (body: object = {}) => room.stranger.repeatSubmission({ params: { id }, query: { token }, body: aSubmission(body) })
    for (let n = 0; n < 4; n++, await room.clock.advance(1_000)) expect(await codeOf(repeat({ bundle: broken }))).toBe('VALIDATION')
    expect((await repeat()).status).toBe('pending')
    await room.operator.requestMarketplaceChanges({ params: { id }, body: { reason: 'More.' } })
    await room.runJobs()
    const next = linkIn(room.mails.at(-1)?.text.replaceAll("'", '') as string, '?token=').searchParams.get('token') as string
    await room.clock.advance(1_000)
    const sixth = room.stranger.repeatSubmission({ params: { id }, query: { token: next }, body: aSubmission() })
    expect((await failure(sixth))?.message).toContain(`Submission ${id} was sent again 5 times within an hour`)
  })

  test('a refused board counts as a submission: its check costs the same', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { templateExport } = aFlow()
    const broken = aSubmission({ bundle: { templateExport: { ...templateExport, edges: templateExport.edges.slice(1) } } })
    const send = () => codeOf(room.stranger.submitItem({ body: broken }))
    for (let n = 0; n < 5; n++) {
      expect(await send()).toBe('VALIDATION')
      await room.clock.advance(1000)
    }
    expect(await send()).toBe('RATE_LIMITED')
  })

  test('a free item may say that it costs 0, and a version may be a pre-release', async () => {
    const room = await aMarketplaceWorld(await fresh())
    for (const price of [{ priceCents: 0 }, { priceModel: null, priceCents: null }] as const) {
      await room.clock.advance(1000)
      const { submissionId: id, version } = await room.stranger.submitItem({ body: aSubmission({ ...price, version: '1.0.0-beta.1' }) })
      expect(version).toBe('1.0.0-beta.1')
      const { item } = await room.operator.approveMarketplaceSubmission({ params: { id }, body: {} })
      expect(item).toMatchObject({ version: '1.0.0-beta.1', priceModel: null, priceCents: null, currency: null })
    }
    await room.clock.advance(1000)
    expect(await codeOf(room.stranger.submitItem({ body: aSubmission({ version: '1.0.0+build' }) }))).toBe('VALIDATION')
  })

  test('approvals for one address make one vendor; an unproven one takes the name of no vendor that is known by more', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const sent = async (proven: boolean) => {
      await room.clock.advance(1_000)
      const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission() })
      if (proven)
        await room.db.updateTable('marketplace_submissions').set({ proven_at: '2026-11-27T08:00:00.000Z' }).where('id', '=', id).execute()
      return id
    }
    const approved = async (id: string, body: { vendorId?: null } = {}) =>
      (await room.operator.approveMarketplaceSubmission({ params: { id }, body })).vendorId
    const first = await approved(await sent(false))
    expect([await approved(await sent(false)), await approved(await sent(true))]).toEqual([first, first])
    expect(await approved(await sent(true)), 'now known by a proven address').toBe(first)
    expect(await approved(await sent(false))).not.toBe(first)
    await room.clock.advance(3_600_000)
    expect(await approved(await sent(true), { vendorId: null })).not.toBe(first)
    const both = await Promise.all([approved(await sent(true)), approved(await sent(true))])
    expect(both).toEqual([first, first])
  })

  test('bad input gets its path and reason, and is not stored', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await approve(room.db, aManifest(), 'ten_one')
    const reason = async (body: unknown) => {
      await room.clock.advance(1000)
      return (await failure(room.stranger.submitItem({ body: body as never })))?.message
    }
    expect(await reason(aSubmission({ priceModel: 'flat-monthly', priceCents: 49 }))).toContain('priceCents: must be from 50 to 100000')
    expect(await reason(aSubmission({ priceCents: 500 }))).toContain('priceModel: is missing')
    expect(await reason(aSubmission({ priceModel: 'per-active-user', priceCents: 1.5 }))).toContain('priceCents')
    expect(await reason(aSubmission({ vendorCountry: 'XX' }))).toContain('must be a country code')
    expect(await reason(aSubmission({ vendorEmail: 'nobody' }))).toContain('vendorEmail')
    expect(await reason(aSubmission({ name: 'two\nlines' }))).toContain('control characters')
    for (const iconEmoji of ['x'.repeat(11), 'Haken', '👋👋', '1'])
      expect(await reason(aSubmission({ iconEmoji }))).toContain('iconEmoji: must be one emoji')
    expect(await reason(aSubmission({ status: 'approved' }))).toContain('status: is not a known field')
    expect(
      await reason(anApp({ bundle: { manifest: { moduleKey: 'attendance', featureFlag: 'attendance', permissions: ['files:write'] } } })),
    ).toContain('bundle.manifest.permissions.0: files:write is not declared by the module attendance 1.0.0')
    const flow = aFlow()
    const broken = { ...flow.templateExport, edges: flow.templateExport.edges.slice(1) }
    expect(await reason(aSubmission({ bundle: { templateExport: broken } }))).toContain('bundle.templateExport.')
    const message = { _localId: 'm', kind: 'message', label: 'M', config: { room: '!a:b', body: 'x' } }
    const withRoom = { ...flow.templateExport, components: [...flow.templateExport.components, message] }
    expect(await reason(aSubmission({ bundle: { templateExport: withRoom } }))).toContain('names a room of one organisation')
    expect((await room.operator.listMarketplaceSubmissions({})).submissions).toEqual([])
  })

  test('a body above 1 MB and deeply nested JSON are refused at once', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const post = async (body: string) => {
      const answer = await fetch(`${room.url}/api/public/marketplace/submissions`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json', connection: 'close' }, body },
      })
      return ((await answer.json()) as { code: string }).code
    }
    expect(await post(JSON.stringify(aSubmission({ description: 'x'.repeat(1_100_000) })))).toBe('PAYLOAD_TOO_LARGE')
    const depth = 200_000
    const deep = JSON.stringify(aSubmission({ bundle: 1 })).replace('"bundle":1', `"bundle":${'['.repeat(depth)}${']'.repeat(depth)}`)
    expect(await post(deep)).toMatch(/VALIDATION|BAD_JSON/)
  })

  test('the sixth receipt of a day to one address waits, and so does each later one', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const hourMs = 3_600_000
    const ids: string[] = []
    const receipts = () =>
      room.mails
        .filter(({ subject }) => subject.startsWith('We received'))
        .map(({ subject }) => String(ids.indexOf(subject.replace('We received submission ', ''))))
    for (let n = 0; n < 9; n++) {
      ids.push((await room.stranger.submitItem({ body: aSubmission({ name: `Flow ${n}` }) })).submissionId)
      await room.runJobs()
      await room.clock.advance(hourMs)
    }
    const first = ['0', '1', '2', '3', '4']
    expect(receipts()).toEqual(first)
    await room.operator.rejectMarketplaceSubmission({ params: { id: ids[6] as string }, body: { reason: 'Twice.' } })
    await room.clock.advance(18 * hourMs)
    await room.runJobs()
    // Flow 6 was rejected meanwhile.
    expect(receipts()).toEqual([...first, '5', '7', '8'])
    const token = linkIn(
      room.mails.findLast(({ subject }) => subject.endsWith(ids[8] as string))?.text as string,
      'confirm',
    ).searchParams.get('token') as string
    expect(await room.stranger.confirmVendorAddress({ params: { id: ids[8] as string }, query: { token } })).toMatch(/confirmed/)
  })

  test('HTML in names is text in mails, and the subject stays one line', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission({ name: '<img src=x>', vendorName: '<b>Ann</b>' }) })
    await room.operator.rejectMarketplaceSubmission({ params: { id }, body: { reason: 'Twice.' } })
    await room.runJobs()
    const mail = room.mails.at(-1)
    expect(mail?.html).toContain('&lt;img src=x&gt;')
    expect(mail?.html).toContain('Hello &lt;b&gt;Ann')
    expect(mail?.html).not.toMatch(/<img|<b>/)
  })

  test('the link of a receipt opens a page that shows names as text; its button posts to the link itself', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await room.stranger.submitItem({ body: aSubmission({ name: '"><script>alert(1)</script>' }) })
    await room.runJobs()
    const { pathname, search } = linkIn(room.mails[0]?.text as string, 'confirm')
    const link = `${room.url}${pathname}${search}`
    const page = await fetch(link, { headers: { connection: 'close' } })
    const html = await page.text()
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self';base-uri 'none'")
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect([html.match(/<form[^>]*>/)?.[0], html.includes('<script'), html.includes('&lt;script&gt;')]).toEqual([
      ...['<form method="post">', false, true],
    ])
    const headers = { 'content-type': 'application/x-www-form-urlencoded', connection: 'close' }
    const posted = await fetch(link, { method: 'POST', headers, body: '' })
    expect([posted.status, await posted.text()]).toEqual([200, expect.stringContaining('Address confirmed')])
    expect(await room.audited()).toEqual(['marketplace.address-proven'])
  })

  test('links of mails are pages in a browser, also when they are wrong, and JSON for programs', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission({ name: '<b>Visitors' }) })
    await room.runJobs()
    const { pathname } = linkIn(room.mails[0]?.text as string, '/status')
    const open = async (path: string, accept: string) => {
      const page = await fetch(`${room.url}${path}`, { headers: { accept, connection: 'close' } })
      return [page.status, page.headers.get('content-type'), await page.text(), page.headers.get('content-security-policy')]
    }
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const policy = expect.stringContaining("default-src 'none'")
    const html = 'text/html; charset=utf-8'
    expect(await open(pathname, browser)).toEqual([200, html, expect.stringContaining('<p>Status: pending. A reviewer answers'), policy])
    expect((await open(pathname, browser))[2]).toContain('&lt;b&gt;Visitors 1.0.0')
    const wrong = pathname.replace('/status', '/confirm?token=wrong')
    expect(await open(wrong, browser)).toEqual([403, html, expect.stringContaining('Next: use the link of the newest mail'), policy])
    expect(await open(pathname.replace(id, 'sbm_%3Cb%3E'), browser)).toEqual([
      404,
      html,
      expect.stringContaining('sbm_&lt;b&gt; does not'),
      policy,
    ])
    expect((await open(wrong, browser))[2]).toContain('<h1>This link does not work</h1>')
    expect((await open(wrong, '*/*')).slice(0, 2)).toEqual([403, 'application/json; charset=utf-8'])
  })

  test('an app whose module is still to come has a warning for the reviewer', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { submissionId: id, warnings } = await room.stranger.submitItem({ body: anApp() })
    expect(warnings[0]).toContain('No approved module has the feature flag attendance yet')
    const shown = async () => (await room.operator.showMarketplaceSubmission({ params: { id } })).warnings
    expect(await shown()).toEqual(warnings)
    await approve(room.db, aManifest(), 'ten_one')
    expect(await shown()).toEqual(['The module attendance declares events:subscribe too; the app installs it without.'])
  })

  test('an app is not approved with permissions that its module, approved meanwhile, does not declare', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { submissionId: id } = await room.stranger.submitItem({ body: anApp() })
    await approve(room.db, aManifest({ permissions: ['files:read'], events: undefined }), 'ten_one')
    const { warnings } = await room.operator.showMarketplaceSubmission({ params: { id } })
    expect(warnings[0]).toBe('The permission spaces:read is not declared by the module attendance 1.0.0: it cannot be approved like this.')
    expect(await failure(room.operator.approveMarketplaceSubmission({ params: { id }, body: {} }))).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(`request-changes ${id}`),
    })
    await room.operator.requestMarketplaceChanges({ params: { id }, body: { reason: 'Other permissions.' } })
  })

  test('of all addresses the 101st submission within an hour is refused', async () => {
    const { db, deps, clock } = await aMarketplaceWorld(await fresh())
    const sent = (nth: number) => codeOf(db.transaction().execute((tx) => countSubmission(deps, tx, { address: `10.0.${nth}.1` })))
    for (let nth = 0; nth < 100; nth++) expect(await sent(nth)).toBe('ok')
    expect(await sent(100)).toBe('RATE_LIMITED')
    await clock.advance(3_600_000)
    expect(await sent(100)).toBe('ok')
  })

  test('of one network the 21st submission within an hour is refused, and those of others are not', async () => {
    const { db, deps } = await aMarketplaceWorld(await fresh())
    const sent = (address: string) => codeOf(db.transaction().execute((tx) => countSubmission(deps, tx, { address })))
    for (let nth = 1; nth <= 20; nth++) expect(await sent(`2001:db8:7:${nth}::1`)).toBe('ok')
    expect(await sent('2001:db8:7:99::1')).toBe('RATE_LIMITED')
    expect(await sent('2001:db8:8:99::1')).toBe('ok')
    for (let nth = 1; nth <= 20; nth++) expect(await sent(`192.0.2.${nth}`)).toBe('ok')
    expect(await sent('192.0.2.99')).toBe('RATE_LIMITED')
    expect(await sent('198.51.100.99')).toBe('ok')
  })

  test('parallel submissions pass the limit no more than one after the other', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await Promise.all([1, 2, 3].map(() => room.stranger.submitItem({ body: aSubmission() })))
    await room.clock.advance(2_000)
    const codes = await Promise.all([1, 2, 3, 4].map(() => codeOf(room.stranger.submitItem({ body: aSubmission() }))))
    expect(codes.toSorted()).toEqual(['RATE_LIMITED', 'RATE_LIMITED', 'ok', 'ok'])
  })
})
