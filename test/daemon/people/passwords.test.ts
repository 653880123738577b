import { expect, test } from 'vitest'
import { onBothDialects } from '../../support/databases.ts'
import { aPeopleWorld, type PeopleWorld } from '../../support/people-world.ts'

const minuteMs = 60_000
const mine = 'a text that anna chose'

/** Anna with an address, her administrator, and a link in her mail. */
async function aForgottenPassword(world: PeopleWorld) {
  const anna = await world.aUser('anna', ['member'], { email: 'anna@school.example' })
  const boss = await world.aUser('boss', ['tenant-admin'])
  await world.operator.forgotPassword({ body: { tenant: 'acme', username: 'anna' } })
  await world.work()
  return { anna, boss, token: world.tokenOfMail() }
}

/** One address has few calls in a second. */
const use = async (world: PeopleWorld, token: string, newPassword = mine) => {
  await world.clock.advance(1000)
  return world.timed(world.outcome(world.operator.resetForgottenPassword({ body: { token, newPassword } })))
}

onBothDialects('passwords of a tenant', (fresh) => {
  test('an initial password opens nothing but its own replacement', async () => {
    const world = await aPeopleWorld(await fresh())
    const boss = await world.aUser('boss', ['tenant-admin'])
    const { user, password, invitedUntil } = await boss.api.createPerson({ body: { localpart: 'anna', displayName: 'Anna' } })
    expect([user.password, invitedUntil]).toEqual(['initial', null])
    const first = await world.logIn('anna', String(password))
    expect(first).toMatchObject({ passwordChangeRequired: true, matrixAccessToken: '' })
    const anna = world.as(first.token)
    expect(await world.outcome(anna.listPeople({}))).toBe('SETUP_REQUIRED')
    expect((await anna.listOwnSessions({})).sessions).toHaveLength(1)
    const change = (newPassword: string) =>
      world.outcome(anna.changeUserPassword({ body: { currentPassword: String(password), newPassword } }))
    expect(await change(String(password))).toBe('VALIDATION')
    expect(await change(mine)).toBe('done')
    expect(await world.outcome(anna.listPeople({}))).toBe('FORBIDDEN')
    const later = await world.logIn('anna', mine)
    expect([later.passwordChangeRequired, later.matrixAccessToken.length > 0]).toEqual([undefined, true])
    expect((await boss.api.showPerson({ params: user })).password).toBe('set')
    const again = await boss.api.resetPersonPassword({ params: user })
    await world.revocations.readNow()
    expect(await world.outcome(anna.listOwnSessions({}))).toBe('UNAUTHENTICATED')
    expect(await world.logIn('anna', String(again.password))).toMatchObject({ passwordChangeRequired: true })
  })

  test('an invitation is a mail with a link; without mail or an address there is an initial password', async () => {
    const world = await aPeopleWorld(await fresh())
    const boss = await world.aUser('boss', ['tenant-admin'])
    const body = { localpart: 'anna', email: 'anna@school.example', invite: true }
    const invited = await boss.api.createPerson({ body })
    expect(invited).toMatchObject({ password: null, invitedUntil: expect.any(String) })
    await world.work()
    expect(world.mails).toMatchObject([{ to: 'anna@school.example', subject: 'Your account for School acme' }])
    expect(world.mails[0]?.text).toContain('https://platform.example/api/public/password?token=')
    expect((await boss.api.showPerson({ params: invited.user })).linkUntil).toBe(invited.invitedUntil)
    expect(await use(world, world.tokenOfMail())).toBe('done')
    expect((await world.logIn('anna', mine)).passwordChangeRequired).toBeUndefined()
    expect((await boss.api.createPerson({ body: { localpart: 'ben', invite: true } })).password).toEqual(expect.any(String))
    const csv = 'username,email\ncem,cem@school.example\ndora,\n'
    const report = await boss.api.importPeople({ body: { csv, dryRun: false, emails: true, invite: true } })
    expect([report.lines.map(({ outcome, reason }) => [outcome, reason]), Object.keys(report.passwords)]).toEqual([
      [
        ['created', 'invited by mail'],
        ['created', null],
      ],
      ['dora'],
    ])
    const silent = await aPeopleWorld(await fresh(), { hasMail: false })
    const other = await silent.aUser('boss', ['tenant-admin'])
    const made = await other.api.createPerson({ body })
    expect([made.invitedUntil, made.password]).toEqual([null, expect.any(String)])
    expect(await silent.outcome(other.api.invitePerson({ params: made.user }))).toBe('CONFIG')
    expect(await silent.outcome(silent.operator.forgotPassword({ body: { tenant: 'acme', username: 'anna' } }))).toBe('CONFIG')
  })

  test('the mail and the page behind its link are in the language of the user', async () => {
    const world = await aPeopleWorld(await fresh())
    const boss = await world.aUser('boss', ['tenant-admin'])
    await boss.api.createPerson({ body: { localpart: 'anna', email: 'anna@school.example', locale: 'de-AT', invite: true } })
    await world.work()
    expect(world.mails).toMatchObject([
      { subject: 'Ihr Konto bei School acme', text: expect.stringContaining('Ihr Anmeldename ist anna.') },
    ])
    const page = await world.operator.showPasswordPage({ query: { token: world.tokenOfMail() } })
    expect(page).toMatch(/<html lang="de">[\s\S]*Passwort wählen[\s\S]*Für anna bei School acme/)
    const address = `${world.url}/api/public/password?token=${encodeURIComponent(world.tokenOfMail())}`
    const sent = await fetch(address, { method: 'POST', body: new URLSearchParams({ password: 'kurz', repeated: 'kurz' }) })
    expect([sent.status, await sent.text()]).toEqual([400, expect.stringContaining('Das Passwort muss mindestens 8 Zeichen haben.')])
  })

  test('a forgotten password: the link ends nothing until it is used, then all sessions, and only once', async () => {
    const world = await aPeopleWorld(await fresh())
    const { anna, token } = await aForgottenPassword(world)
    expect((await anna.api.listOwnSessions({})).sessions).toHaveLength(1)
    expect([await use(world, token, 'passwort123'), await use(world, token, 'anna-2026')]).toEqual(['VALIDATION', 'VALIDATION'])
    world.chat.state.fence = true
    expect(await use(world, token)).toBe('HOMESERVER_UNREACHABLE')
    world.chat.state.fence = false
    await world.clock.advance(11_000)
    expect(await use(world, token)).toBe('done')
    await world.revocations.readNow()
    expect(await world.outcome(anna.api.listOwnSessions({}))).toBe('UNAUTHENTICATED')
    expect(await world.outcome(world.timed(world.logIn('anna', anna.password)))).toBe('LOGIN_FAILED')
    expect((await world.logIn('anna', mine)).token).toBeTruthy()
    expect(await use(world, token, 'another text of hers')).toBe('LINK_INVALID')
    const [{ actor, action } = {}] = await world.db
      .selectFrom('audit')
      .select(['actor', 'action'])
      .where('action', 'like', '%reset')
      .execute()
    expect([actor, action]).toEqual(['system:password-link', 'user.password-reset'])
  })

  test('of two uses at once one sets the password', async () => {
    const world = await aPeopleWorld(await fresh())
    const { token } = await aForgottenPassword(world)
    const [one, two] = ['the first text of two', 'the second text of two']
    const reset = (newPassword: string) => world.outcome(world.operator.resetForgottenPassword({ body: { token, newPassword } }))
    const outcomes = await world.timed(Promise.all([reset(one as string), reset(two as string)]))
    expect(outcomes.toSorted()).toEqual(['LINK_INVALID', 'done'])
    expect(world.chat.accounts.get('@anna:acme.example')?.password).toBe(outcomes[0] === 'done' ? one : two)
  })

  test('a link ends with its time, a newer password, another address, and the account', async () => {
    const world = await aPeopleWorld(await fresh())
    const { anna, boss, token: first } = await aForgottenPassword(world)
    const another = async () => {
      await world.clock.advance(61 * minuteMs)
      await world.operator.forgotPassword({ body: { tenant: 'ACME.example', username: 'Anna' } })
      await world.work()
      return world.tokenOfMail()
    }
    const [id = '', proof = ''] = first.split('.')
    for (const forged of [`${id}.${proof.slice(1)}`, `${id}x.${proof}`, id, proof, '.'])
      expect([forged, await use(world, forged)]).toEqual([forged, 'LINK_INVALID'])
    const spoilers: readonly [string, () => Promise<unknown>][] = [
      ['its time', () => world.clock.advance(31 * minuteMs)],
      ['a newer password', () => anna.api.changeUserPassword({ body: { currentPassword: anna.password, newPassword: 'a newer text' } })],
      ['another address', () => boss.api.changePerson({ params: anna, body: { email: 'other@school.example' } })],
      ['the account', () => boss.api.disablePerson({ params: anna, body: { reason: 'left' } })],
    ]
    let token = first
    for (const [what, spoil] of spoilers) {
      await spoil()
      expect([what, await use(world, token)]).toEqual([what, 'LINK_INVALID'])
      if (what !== 'the account') token = await another()
    }
    expect(world.mails.map(({ to }) => to)).toEqual([...Array(3).fill('anna@school.example'), 'other@school.example'])
  })

  test('the answer to a forgotten password shows neither a tenant nor a user, and no more is done before it', async () => {
    const world = await aPeopleWorld(await fresh())
    await world.aUser('anna', ['member'], { email: 'anna@school.example' })
    await world.aUser('ben')
    await world.work()
    const asked = [
      ['acme', 'anna'],
      ['acme', 'ben'],
      ['acme', 'nobody'],
      ['nowhere', 'anna'],
    ]
    const answers = []
    for (const [tenant, username] of asked) {
      await world.clock.advance(1000)
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ tenant, username }) }
      const answer = await fetch(`${world.url}/api/auth/v1/password/forgot`, init)
      const headers = [...answer.headers].filter(([name]) => !/^(date|x-request-id|etag)$/.test(name))
      answers.push(JSON.stringify([answer.status, await answer.text(), headers]))
    }
    expect([new Set(answers).size, answers[0]?.startsWith('[202')]).toEqual([1, true])
    const jobs = await world.db.selectFrom('jobs').select('topic').where('status', '=', 'pending').execute()
    expect(jobs.map(({ topic }) => topic)).toEqual(Array(4).fill('people.forgotten-password'))
    expect(await world.db.selectFrom('password_links').selectAll().execute()).toEqual([])
    await world.work()
    expect(world.mails).toHaveLength(1)
  })

  test('links of one user and of one network are bounded', async () => {
    const world = await aPeopleWorld(await fresh())
    for (let n = 0; n < 8; n++) await world.aUser(`user-${n}`, ['member'], { email: `user-${n}@school.example` })
    const mailsTo = async (username: string) => {
      for (let n = 0; n < 5; n++) {
        await world.clock.advance(1000)
        await world.operator.forgotPassword({ body: { tenant: 'acme', username } })
        await world.work()
      }
      return world.mails.filter(({ to }) => to.startsWith(username)).length
    }
    const counts = []
    for (let n = 0; n < 8; n++) counts.push(await mailsTo(`user-${n}`))
    expect(counts).toEqual([3, 3, 3, 3, 3, 3, 2, 0])
    await world.clock.advance(61 * minuteMs)
    expect(await mailsTo('user-7')).toBe(3)
  })

  test('the page of a link changes nothing, and its form sets the password', async () => {
    const world = await aPeopleWorld(await fresh())
    const { token } = await aForgottenPassword(world)
    const url = `${world.url}/api/public/password?token=${token}`
    const page = await fetch(url)
    expect([page.status, page.headers.get('cache-control'), await page.text()]).toEqual([
      200,
      'no-store',
      expect.stringContaining('<form method="post">'),
    ])
    const send = async (fields: Record<string, string>) => {
      await world.clock.advance(2000)
      return world.timed(fetch(url, { method: 'POST', body: new URLSearchParams(fields) }))
    }
    const wrong = [
      await send({ password: mine, repeated: 'other' }),
      await send({ password: 'qwertz12', repeated: 'qwertz12' }),
      await send({ password: '<b>short', repeated: '<b>shorter' }),
    ]
    for (const answer of wrong) expect([answer.status, (await answer.text()).includes('<b>')]).toEqual([400, false])
    expect((await send({ password: mine, repeated: mine })).status).toBe(200)
    expect((await world.logIn('anna', mine)).token).toBeTruthy()
    expect((await send({ password: mine, repeated: mine })).status).toBe(401)
  })

  test('the administration ends a lock', async () => {
    const world = await aPeopleWorld(await fresh())
    const anna = await world.aUser('anna')
    const boss = await world.aUser('boss', ['tenant-admin'])
    const wrong = () => world.timed(world.outcome(world.logIn('anna', 'wrong text of anna')))
    for (let n = 0; n < 10; n++) expect(await wrong()).toBe('LOGIN_FAILED')
    expect(await wrong()).toBe('ACCOUNT_LOCKED')
    expect((await boss.api.showPerson({ params: anna })).lockedUntil).toEqual(expect.any(String))
    await boss.api.unlockPerson({ params: anna })
    expect((await boss.api.showPerson({ params: anna })).lockedUntil).toBeNull()
    expect((await world.logIn('anna', anna.password)).token).toBeTruthy()
  })
})
