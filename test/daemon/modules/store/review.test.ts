import { expect, test } from 'vitest'
import { eraseDeveloper } from '../../../../src/daemon/modules/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aPackage, aStoreWorld, formOf } from '../../../support/store-world.ts'

const refused = (code: string) => ({ code })

onBothDialects('reviews of the store', (fresh) => {
  /** Runs the mail jobs that are queued. */
  async function mailsOf({ db, jobs, mails }: Awaited<ReturnType<typeof aStoreWorld>>) {
    const rows = await db.selectFrom('jobs').select(['topic', 'payload']).where('topic', '=', 'store.decision-mail').execute()
    mails.length = 0
    for (const { topic, payload } of rows) await jobs[topic]?.(JSON.parse(payload), { last: false })
    await db.deleteFrom('jobs').where('topic', '=', 'store.decision-mail').execute()
    return mails
  }

  test('a review shows source, findings and the difference to the approved version; each decision is mailed', async () => {
    const room = await aStoreWorld(await fresh())
    const anna = await room.aDeveloper('anna')
    const first = await room.listed(anna)
    const [firstPackage] = await room.stored()
    expect(await mailsOf(room)).toMatchObject([
      { id: first.submissionId, to: 'anna@example.org', subject: 'attendance 0.1.0 was approved', html: expect.stringContaining('<p>') },
    ])
    const { manifest } = await aPackage()
    const next = { version: '0.2.0', permissions: [...(manifest.permissions as string[]), 'files:read'] }
    const { submissionId: id } = await room.upload(anna, {
      manifest: next,
      files: { 'lib/more.js': 'export const more = 1\n', 'logo.png': '\0\0' },
    })
    const rita = room.as('rita')
    const shown = await rita.showReview({ params: { id } })
    expect(shown.difference).toEqual({
      previousVersion: '0.1.0',
      files: { added: ['lib/more.js', 'logo.png'], removed: [], changed: ['module.json'] },
      permissions: { added: ['files:read'], removed: [] },
      ...{ subscribes: { added: [], removed: [] }, publishes: { added: [], removed: [] } },
    })
    expect(shown.sources).toContainEqual({ file: 'lib/more.js', bytes: 22, text: 'export const more = 1\n', findings: [] })
    expect(shown.sources).toContainEqual({ file: 'logo.png', bytes: 2, text: null, findings: [] })
    expect(shown).toMatchObject({ status: 'in_review', developer: anna.account, scan: { ok: true }, test: { ok: true } })
    // Without the approved package a version can still be reviewed and decided; without its own it cannot.
    await room.objects.remove(`store/${firstPackage}`)
    const withoutOld = await rita.showReview({ params: { id } })
    expect(withoutOld.difference).toMatchObject({ previousVersion: null, files: { added: expect.arrayContaining(['index.js']) } })
    expect(withoutOld.warnings).toContainEqual(expect.stringMatching(/approved version 0\.1\.0 is missing.*fix: restore it/))
    expect((await anna.showSubmission({ params: { id } })).warnings).toEqual(shown.warnings)
    await expect(anna.showReview({ params: { id: 'sub_none' } })).rejects.toMatchObject(refused('NOT_FOUND'))
    await expect(room.as('ben').showReview({ params: { id } })).rejects.toMatchObject(refused('FORBIDDEN'))

    // An admin reviews too; the mail of an erased developer goes nowhere.
    const root = room.as('root')
    await root.reviewSubmission({ params: { id }, body: { action: 'reject', notes: 'why <files>?' } })
    expect((await anna.showSubmission({ params: { id } })).review).toMatchObject({ by: expect.stringMatching(/^admin:/) })
    const [mail] = await mailsOf(room)
    expect(mail).toMatchObject({ subject: 'attendance 0.2.0 was rejected', text: expect.stringContaining('why <files>?') })
    expect(mail?.html).toContain('why &lt;files&gt;?')
    const { submissionId } = await room.upload(anna, { manifest: next })
    await root.reviewSubmission({ params: { id: submissionId }, body: { action: 'approve' } })
    const [{ id: annaId }] = (await room.db.selectFrom('users').select('id').where('localpart', '=', 'anna').execute()) as [{ id: string }]
    await eraseDeveloper(room.db, { id: annaId })
    expect(await mailsOf(room)).toEqual([])
  })

  test('a price in another currency is refused at the upload, and at the approval if the currency of the platform changed', async () => {
    const db = await fresh()
    const room = await aStoreWorld(db)
    const anna = await room.aDeveloper('anna')
    const billing = (currency: string, monthlyPrice = 4.99) => ({
      manifest: { billing: { model: 'subscription', monthlyPrice, currency } },
    })
    await expect(room.upload(anna, billing('USD'))).rejects.toMatchObject({
      code: 'MODULE_INVALID',
      details: [{ path: 'billing.currency', reason: 'must be EUR, the currency of this platform' }],
    })
    await room.upload(anna, billing('USD', 0))
    const { submissionId: id } = await room.upload(anna, billing('EUR'))
    const row = await db.selectFrom('store_submissions').select('manifest').where('id', '=', id).executeTakeFirstOrThrow()
    const manifest = row.manifest.replace('"EUR"', '"USD"')
    await db.updateTable('store_submissions').set({ manifest }).where('id', '=', id).execute()
    const approve = () => room.as('rita').reviewSubmission({ params: { id }, body: { action: 'approve' } })
    await expect(approve()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/is in USD, .* in EUR\. fix: reject it/),
    })
    expect((await anna.showSubmission({ params: { id } })).status).toBe('in_review')
  })

  test('a reviewer verifies a developer, but not the own account', async () => {
    const room = await aStoreWorld(await fresh())
    const anna = await room.aDeveloper('anna')
    const params = { id: anna.account.id }
    for (const verified of [true, true, false])
      expect(await room.as('rita').verifyDeveloper({ params, body: { verified } })).toEqual({ ...anna.account, verified })
    await expect(room.as('anna').verifyDeveloper({ params, body: { verified: true } })).rejects.toMatchObject(refused('FORBIDDEN'))
    await expect(room.as('ben').verifyDeveloper({ params, body: { verified: true } })).rejects.toMatchObject(refused('FORBIDDEN'))
    const none = room.as('rita').verifyDeveloper({ params: { id: 'dev_none' }, body: { verified: true } })
    await expect(none).rejects.toMatchObject(refused('NOT_FOUND'))
    const changes = (await room.audited()).filter((action) => action.includes('verified'))
    expect(changes).toEqual(['store.developer-verified', 'store.developer-unverified'])
  })

  test('submit confirms an upload, with source files scanned in addition', async () => {
    const room = await aStoreWorld(await fresh())
    const [anna, ben] = [await room.aDeveloper('anna'), await room.aDeveloper('ben')]
    const { zip, manifest } = await aPackage()
    const { artifactPath, submissionId } = await anna.uploadModule({ upload: formOf(zip, manifest) })
    const submit = (sourceFiles?: Record<string, string>) =>
      anna.submitModule({ body: { manifest, artifactPath, ...(sourceFiles ? { sourceFiles } : {}) } })
    expect(await submit()).toEqual({ submissionId, status: 'in_review' })
    expect(await submit({ 'src/index.ts': 'export const one: number = 1\n' })).toEqual({ submissionId, status: 'in_review' })
    const failure = await submit({ 'src/index.ts': "\n  eval('1')\n" }).catch((error) => error)
    expect(failure).toMatchObject({ code: 'SCAN_FAILED', status: 422 })
    expect(failure.violations).toMatchObject([{ code: 'global-name', file: 'src/index.ts', line: 2, column: 3 }])
    for (const path of ['../index.ts', '/etc/passwd', 'a\\b', 'x'.repeat(201), ''])
      await expect(submit({ [path]: '' })).rejects.toMatchObject(refused('VALIDATION'))
    const other = anna.submitModule({ body: { manifest: { ...manifest, version: '9.0.0' }, artifactPath } })
    await expect(other).rejects.toMatchObject(refused('MANIFEST_MISMATCH'))
    await expect(ben.submitModule({ body: { manifest, artifactPath } })).rejects.toMatchObject(refused('NOT_FOUND'))
    await expect(anna.submitModule({ body: { manifest, artifactPath: '../x' } })).rejects.toMatchObject(refused('NOT_FOUND'))
    const forbidden = { manifest, artifactPath: 'none', sourceFiles: { 'src/index.ts': "eval('1')" } }
    await expect(anna.submitModule({ body: forbidden })).rejects.toMatchObject(refused('SCAN_FAILED'))
    await room.as('rita').reviewSubmission({ params: { id: submissionId }, body: { action: 'reject', notes: 'no' } })
    await expect(submit()).rejects.toMatchObject(refused('INVALID_TRANSITION'))
  })

  test('registration is open, by invite or closed', async () => {
    const given = { email: 'ben@example.org', name: 'Ben', organization: 'Acme' }
    const register = async (registration: 'open' | 'invite' | 'closed') =>
      (await aStoreWorld(await fresh(), { registration })).as('ben').registerDeveloper({ body: given })
    expect(await register('open')).toMatchObject({ email: 'ben@example.org', verified: false })
    await expect(register('invite')).rejects.toMatchObject(refused('FORBIDDEN'))
    await expect(register('closed')).rejects.toMatchObject(refused('FORBIDDEN'))
  })
})
