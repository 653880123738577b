import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { storeLimits } from '../../../../src/core/store/index.ts'
import { eraseDeveloper } from '../../../../src/daemon/modules/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aPackage, aStoreWorld, formOf } from '../../../support/store-world.ts'

const refused = (code: string) => ({ code })

onBothDialects('the store of modules', (fresh) => {
  test('a developer uploads a module, a reviewer approves it, and its package can be downloaded for 15 minutes', async () => {
    const room = await aStoreWorld(await fresh())
    const anna = await room.aDeveloper('anna')
    expect(anna.account).toMatchObject({ email: 'anna@example.org', name: 'anna', organization: 'Acme', verified: false })
    const { zip, manifest } = await aPackage()
    const checksum = createHash('sha256').update(zip).digest('hex')
    const made = await anna.uploadModule({ upload: formOf(zip, manifest) })
    expect(made).toMatchObject({ checksum, artifactPath: expect.stringMatching(/^art_/) })
    const params = { id: made.submissionId }
    const shown = await anna.showSubmission({ params })
    expect(shown).toMatchObject({ moduleId: 'attendance', version: '0.1.0', status: 'in_review', review: null, warnings: [] })
    expect(shown.scan).toEqual({ ok: true, violations: [], files: 5, bytes: expect.any(Number) })
    expect(shown.test).toMatchObject({ ok: true, log: expect.arrayContaining([expect.stringContaining('spaces counted: 1')]) })
    expect(shown.test.ran.map(({ step }) => step)).toContain('event space.created')
    expect((await anna.listSubmissions()).submissions).toMatchObject([{ submissionId: made.submissionId, status: 'in_review' }])

    const rita = room.as('rita')
    const { reviews } = await rita.listReviews()
    expect(reviews).toMatchObject([{ submissionId: made.submissionId, developer: anna.account, expiresInSeconds: 900 }])
    await expect(room.as('anna').reviewSubmission({ params, body: { action: 'approve' } })).rejects.toMatchObject(refused('FORBIDDEN'))
    const approved = await rita.reviewSubmission({ params, body: { action: 'approve', notes: 'fine' } })
    expect(approved).toEqual({ success: true, status: 'approved' })
    const review = { action: 'approve', notes: 'fine', by: expect.stringMatching(/^usr_/), at: expect.any(String) }
    expect((await anna.showSubmission({ params })).review).toEqual(review)
    expect((await rita.listReviews()).reviews).toEqual([])
    await expect(rita.reviewSubmission({ params, body: { action: 'approve' } })).rejects.toMatchObject(refused('INVALID_TRANSITION'))
    expect(await room.db.selectFrom('store_modules').selectAll().execute()).toMatchObject([
      { id: 'attendance', version: '0.1.0', feature_flag: 'attendance', submission_id: made.submissionId },
    ])

    for (const { id } of await room.db.selectFrom('users').select('id').where('localpart', '!=', 'anna').execute())
      await eraseDeveloper(room.db, { id })
    expect((await anna.showSubmission({ params })).review).toEqual({ ...review, by: 'erased user' })

    const { downloadUrl, expiresInSeconds } = await anna.linkPackage({ params: { submissionId: made.submissionId } })
    expect(expiresInSeconds).toBe(900)
    const get = (url: string) => fetch(`${room.url}${url}`, { headers: { connection: 'close' } })
    const response = await get(downloadUrl)
    expect(response.headers.get('content-disposition')).toContain('attachment; filename="attendance-0.1.0.zip"')
    expect(Buffer.from(await response.arrayBuffer()).equals(zip)).toBe(true)
    const changes = [
      downloadUrl.replace(/expires=\d+/, (text) => `${text}0`),
      downloadUrl.replace(/signature=./, (text) => `signature=${text.endsWith('A') ? 'B' : 'A'}`),
      downloadUrl.replace(/art_[a-z0-9]{20}/, `art_${'0'.repeat(20)}`),
    ]
    for (const changed of changes) expect((await get(changed)).status).toBe(403)
    await room.clock.advance(900_000)
    expect((await get(downloadUrl)).status).toBe(403)
    expect((await room.audited()).filter((action) => action.startsWith('store.'))).toEqual([
      'store.invite-created',
      'store.developer-registered',
      'store.module-submitted',
      'store.module-approved',
    ])
  })

  test('a forbidden package gets 422 with the place of each violation, and nothing of it stays', async () => {
    const room = await aStoreWorld(await fresh())
    const anna = await room.aDeveloper('anna')
    const code = "const name = 'child_' + 'process'\nexport const on = { 'space.created': async () => (await import(name)).exec('id') }\n"
    const failure = await room.upload(anna, { files: { 'index.js': code } }).catch((error) => error)
    expect(failure).toMatchObject({ code: 'SCAN_FAILED', status: 422 })
    expect(failure.violations).toContainEqual(
      expect.objectContaining({ code: 'import-not-literal', file: 'index.js', line: 2, column: expect.any(Number) }),
    )
    const other = async (fields: unknown, zip?: Uint8Array) => {
      const one = await aPackage()
      return anna.uploadModule({ upload: formOf(zip ?? one.zip, fields ?? one.manifest) }).catch((error) => error)
    }
    expect(await other({ id: 'other' })).toMatchObject({ code: 'MANIFEST_MISMATCH' })
    expect(await other('{')).toMatchObject({ code: 'VALIDATION' })
    const deep = await other(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
    expect(deep).toMatchObject({ code: 'VALIDATION', message: 'manifest: must not be nested deeper than 64 levels' })
    const unreadable = await other(undefined, Buffer.from('no zip'))
    expect(unreadable).toMatchObject({ code: 'SCAN_FAILED', message: expect.stringMatching(/[^.]\. fix: tenantry modules check/) })
    const samples = JSON.stringify({ steps: [], files: [{ id: 'f', spaceId: 's', name: 'f', content: 'x'.repeat(300_000) }] })
    await expect(room.upload(anna, { files: { 'samples.json': samples } })).rejects.toMatchObject(refused('MODULE_INVALID'))
    await expect(room.upload(anna, { manifest: { svcCoreVersion: '>=9.0.0' } })).rejects.toMatchObject(refused('INCOMPATIBLE'))
    await expect(room.upload(anna, { manifest: { nonsense: 1 } })).rejects.toMatchObject(refused('MODULE_INVALID'))
    expect((await anna.listSubmissions()).submissions).toEqual([])
    expect(await room.stored()).toEqual([])
    expect(new Set((await room.db.selectFrom('store_artifacts').select('state').execute()).map(({ state }) => state))).toEqual(
      new Set(['discarded']),
    )
  })

  test('a module that fails its test is shown to the reviewer, who rejects it with a reason', async () => {
    const room = await aStoreWorld(await fresh())
    const anna = await room.aDeveloper('anna')
    const { submissionId } = await room.upload(anna, { files: { 'index.js': "export const on = { 'space.created': async () => {} }\n" } })
    expect((await anna.showSubmission({ params: { id: submissionId } })).test).toMatchObject({ ok: false })
    const rita = room.as('rita')
    const reject = (notes: string) => rita.reviewSubmission({ params: { id: submissionId }, body: { action: 'reject', notes } })
    await expect(reject(' ')).rejects.toMatchObject(refused('VALIDATION'))
    await room.clock.advance(80 * 86_400_000)
    expect(await reject('it does nothing')).toEqual({ success: true, status: 'rejected' })
    expect(await anna.showSubmission({ params: { id: submissionId } })).toMatchObject({
      status: 'rejected',
      review: { notes: 'it does nothing' },
    })
    expect(await room.audited()).toContain('store.module-rejected')
    await room.clock.advance(89 * 86_400_000)
    await room.cleanUp()
    expect(await room.stored()).toHaveLength(1)
    await room.clock.advance(86_400_000)
    expect(await room.cleanUp()).toBe('1 old package')
    expect([await room.stored(), (await anna.listSubmissions()).submissions]).toEqual([[], []])
  })

  test('a test that never ends is ended, and shown as failed', async () => {
    const room = await aStoreWorld(await fresh(), { testMs: 1 })
    const anna = await room.aDeveloper('anna')
    const { submissionId } = await room.upload(anna)
    const { test: shown } = await anna.showSubmission({ params: { id: submissionId } })
    expect(shown).toMatchObject({ ok: false, ran: [{ step: 'test', message: 'The test took longer than 0.001 s and was ended.' }] })
  })

  test('an id, a flag and a version belong to the first; a newer submission replaces the open one', async () => {
    const room = await aStoreWorld(await fresh())
    const [anna, ben, rita] = [await room.aDeveloper('anna'), await room.aDeveloper('ben'), room.as('rita')]
    const first = await room.upload(anna)
    await expect(room.upload(ben)).rejects.toMatchObject(refused('ALREADY_EXISTS'))
    const second = await room.upload(anna, { manifest: { version: '0.2.0' } })
    expect((await anna.showSubmission({ params: { id: first.submissionId } })).status).toBe('replaced')
    await rita.reviewSubmission({ params: { id: second.submissionId }, body: { action: 'approve' } })
    await expect(room.upload(ben)).rejects.toMatchObject(refused('ALREADY_EXISTS'))
    await expect(room.upload(anna)).rejects.toMatchObject(refused('VERSION_EXISTS'))
    await expect(room.upload(ben, { id: 'visits', manifest: { featureFlag: 'attendance' } })).rejects.toMatchObject(refused('FLAG_TAKEN'))
    await room.db
      .updateTable('tenants')
      .set({ feature_flags: JSON.stringify({ visits: false }) })
      .execute()
    await expect(room.upload(ben, { id: 'visits' })).rejects.toMatchObject(refused('FLAG_TAKEN'))
    const similar = await room.upload(ben, { id: 'atendance' })
    expect((await ben.showSubmission({ params: { id: similar.submissionId } })).warnings).toHaveLength(1)
    // Both wait with one flag: the one that is approved first has it.
    const [one, two] = [
      await room.upload(anna, { id: 'one-app', manifest: { featureFlag: 'same' } }),
      await room.upload(ben, { id: 'two-app', manifest: { featureFlag: 'same' } }),
    ]
    await rita.reviewSubmission({ params: { id: one.submissionId }, body: { action: 'approve' } })
    const late = rita.reviewSubmission({ params: { id: two.submissionId }, body: { action: 'approve' } })
    await expect(late).rejects.toMatchObject(refused('FLAG_TAKEN'))
  })

  test('a code works once and for 30 days, and the header must name the own account', async () => {
    const room = await aStoreWorld(await fresh())
    const anna = await room.aDeveloper('anna')
    const given = { email: 'ben@example.org', name: 'Ben', organization: 'Acme' }
    const register = (name: string, inviteCode: string) => room.as(name).registerDeveloper({ body: { ...given, inviteCode } })
    expect(JSON.stringify(await room.db.selectFrom('store_invites').selectAll().execute())).not.toContain(anna.code)
    await expect(register('ben', anna.code)).rejects.toMatchObject(refused('FORBIDDEN'))
    await expect(register('ben', 'sti_guess')).rejects.toMatchObject(refused('FORBIDDEN'))
    await expect(register('rita', anna.code)).rejects.toMatchObject(refused('FORBIDDEN'))
    await expect(register('anna', anna.code)).rejects.toMatchObject({
      ...refused('ALREADY_EXISTS'),
      message: expect.stringContaining('tenantry modules submit --developer dev_'),
    })
    const { code } = await room.as('root').createStoreInvite()
    await room.clock.advance(30 * 86_400_000)
    await expect(register('ben', code)).rejects.toMatchObject(refused('FORBIDDEN'))
    const ben = await room.aDeveloper('ben')
    const { submissionId } = await room.upload(anna)
    for (const wrong of [undefined, 'dev_none', anna.account.id])
      await expect(room.as('ben', wrong).listSubmissions()).rejects.toMatchObject(refused('FORBIDDEN'))
    await expect(ben.showSubmission({ params: { id: submissionId } })).rejects.toMatchObject(refused('NOT_FOUND'))
    await expect(ben.linkPackage({ params: { submissionId } })).rejects.toMatchObject(refused('NOT_FOUND'))
    await expect(room.as('ben').listReviews()).rejects.toMatchObject(refused('FORBIDDEN'))
  })

  test('limits: 50 MB, ten uploads a day, three open submissions, one scan at a time', async () => {
    const room = await aStoreWorld(await fresh())
    const anna = await room.aDeveloper('anna')
    const large = new Blob([new Uint8Array(51 * 1024 * 1024)])
    const tooLarge = anna.uploadModule({ upload: { content: large, fileName: 'm.zip', fields: { manifest: '{}' } } })
    await expect(tooLarge).rejects.toMatchObject({ code: expect.stringMatching(/PAYLOAD_TOO_LARGE|UNREACHABLE/) })
    const both = await Promise.allSettled([room.upload(anna, { id: 'one' + '-app' }), room.upload(anna, { id: 'two-app' })])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'RATE_LIMITED', retryAfterSeconds: 1 } })
    for (const id of ['three-app', 'four-app']) await room.upload(anna, { id })
    await expect(room.upload(anna, { id: 'five-app' })).rejects.toMatchObject(refused('CONFLICT'))
    for (let n = 0; n < storeLimits.uploadsADay - 4; n++) await room.upload(anna, { id: 'five-app' }).catch(() => undefined)
    await expect(room.upload(anna, { id: 'five-app' })).rejects.toMatchObject(refused('RATE_LIMITED'))
    await room.clock.advance(86_400_001)
    await expect(room.upload(anna, { id: 'five-app' })).rejects.toMatchObject(refused('CONFLICT'))
  })

  test('a developer who asks for scan after scan keeps no other out', async () => {
    const room = await aStoreWorld(await fresh())
    const [anna, ben] = [await room.aDeveloper('anna'), await room.aDeveloper('ben')]
    const { artifactPath } = await room.upload(anna)
    const body = { manifest: (await aPackage()).manifest as never, artifactPath, sourceFiles: { 'main.js': 'export const a = 1' } }
    let isOver = false
    const codes: string[] = []
    const scanAgain = async () => {
      while (!isOver)
        codes.push(
          await anna.submitModule({ body }).then(
            ({ status }) => status,
            ({ code }) => code,
          ),
        )
    }
    const loops = Promise.all([scanAgain(), scanAgain()])
    await room.upload(ben, { id: 'ben-app' })
    isOver = true
    await loops
    expect(new Set(codes)).toEqual(new Set(['in_review', 'RATE_LIMITED']))
  })
})
