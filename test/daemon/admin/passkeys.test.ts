import { afterEach, expect, test } from 'vitest'
import { adminContract, type PasskeyAssertion } from '../../../src/core/admin/index.ts'
import type { AdminActor } from '../../../src/core/kit/index.ts'
import { disableAccount, resetPassword, unlockAccount } from '../../../src/daemon/admin/accounts.ts'
import { adminRoutes, authenticateConsole, consoleAccess, resetTotp } from '../../../src/daemon/admin/index.ts'
import { login } from '../../../src/daemon/admin/login.ts'
import { beginPasskeyLogin, openConsoleByPasskey } from '../../../src/daemon/admin/passkey-login.ts'
import { addPasskey, beginPasskey, listPasskeys, removePasskey } from '../../../src/daemon/admin/passkeys.ts'
import { logout } from '../../../src/daemon/admin/sessions.ts'
import { enrolTotp } from '../../../src/daemon/admin/totp.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { type AdminWorld, anAccount, anAdminWorld, aPassword, aSession } from '../../support/admin-world.ts'
import { anAuthenticator, bytes, type Lies, list, map, text } from '../../support/authenticator.ts'
import { onBothDialects } from '../../support/databases.ts'
import { servedApp } from '../../support/served-app.ts'

const address = '192.0.2.7'
const origin = 'https://tenantry.example'
const minuteMs = 60_000
const worlds: AdminWorld[] = []
afterEach(() => {
  for (const world of worlds.splice(0)) world.stop()
})

async function aWorld(db: Db, { baseUrl = origin, like }: { baseUrl?: string; like?: AdminWorld } = {}): Promise<AdminWorld> {
  const world = { ...(await anAdminWorld(db, like ? { clock: like.clock } : {})), baseUrl, console: consoleAccess(baseUrl) }
  worlds.push(world)
  return world
}

/** What a device does for its person, and the daemon's answers. */
function aDevice(world: AdminWorld, options: Parameters<typeof anAuthenticator>[1] = {}) {
  const authenticator = anAuthenticator(origin, options)
  const add = async (actor: AdminActor, { name = 'Phone', lies = {} as Lies, at = world } = {}) => {
    const { creation, cookie } = await beginPasskey(world, actor)
    return addPasskey(at, actor, { name, credential: authenticator.create(creation, lies), cookie })
  }
  const finish = (credential: PasskeyAssertion, challengeCookie: string | undefined, at = world) =>
    openConsoleByPasskey(at, { credential, challengeCookie, address })
  const logIn = async (lies: Lies = {}) => {
    const { request, cookie } = beginPasskeyLogin(world)
    return finish(authenticator.get(request, lies), cookie)
  }
  return { authenticator, add, finish, logIn }
}

/** An account with a passkey. */
async function enrolled(db: Db, options: Parameters<typeof anAuthenticator>[1] = {}) {
  const world = await aWorld(db)
  await anAccount(world)
  const { actor } = await aSession(world)
  const device = aDevice(world, options)
  const passkey = await device.add(actor)
  return { world, actor, passkey, ...device }
}

const outcome = (work: Promise<unknown>) =>
  work.then(
    () => 'let in',
    (error: { code?: string }) => error.code ?? String(error),
  )

const audited = async ({ db }: AdminWorld) =>
  (await db.selectFrom('audit').select(['action', 'subject', 'data']).orderBy('seq').execute()).map(({ data, ...row }) => ({
    ...row,
    data: JSON.parse(data),
  }))

const changed = (cookie: string) => cookie.replace(/.(?=.{20}$)/, (letter) => (letter === 'A' ? 'B' : 'A'))

/** The entries of refusals. */
const refusals = async (world: AdminWorld) => (await audited(world)).filter(({ action }) => action === 'account.passkey-refused')

onBothDialects('passkeys', (fresh) => {
  test('a passkey logs in without password and code, and the session has just been proven', async () => {
    const { world, actor, passkey, logIn } = await enrolled(await fresh())
    expect(await listPasskeys(world, actor, {})).toEqual([
      { id: passkey.id, name: 'Phone', createdAt: expect.any(String), lastUsedAt: null },
    ])
    await world.clock.advance(minuteMs)
    const { cookie, opened } = await logIn()
    expect(opened).toMatchObject({ account: { name: 'anna', role: 'admin' }, setup: [] })
    const own = { 'x-tenantry-console': '1', 'sec-fetch-site': 'same-origin', host: 'tenantry.example' }
    const headers = { ...own, cookie: world.console.cookie(cookie).split(';')[0] ?? '' }
    expect(await authenticateConsole(world)(headers, { role: 'admin', reauthenticated: true })).toMatchObject({ name: 'anna' })
    expect(await listPasskeys(world, actor, {})).toEqual([expect.objectContaining({ lastUsedAt: world.clock.now().toISOString() })])
    const [added, openedEntry] = (await audited(world)).slice(-2)
    expect(added).toEqual({ action: 'account.passkey-added', subject: 'anna', data: { id: passkey.id, name: 'Phone' } })
    expect(openedEntry).toMatchObject({
      action: 'session.opened',
      data: { address, secondFactor: 'passkey', console: true, passkey: 'Phone' },
    })
  })

  test('no code is asked for where the account has one-time codes and its role needs them', async () => {
    const { world, actor, logIn } = await enrolled(await fresh())
    await enrolTotp(world, actor, { password: aPassword, address })
    await world.db.updateTable('admin_accounts').set({ totp_confirmed_at: world.clock.now().toISOString() }).execute()
    expect(await outcome(login(world, { name: 'anna', password: aPassword, address }))).toBe('TOTP_REQUIRED')
    expect((await logIn()).opened.setup).toEqual([])
  })

  test('one replica begins, another one finishes', async () => {
    const db = await fresh()
    const { world, actor, finish, authenticator } = await enrolled(db)
    const other = await aWorld(db, { like: world })
    await aDevice(world).add(actor, { name: 'Laptop', at: other })
    const { request, cookie } = beginPasskeyLogin(world)
    const credential = authenticator.get(request)
    expect(await outcome(finish(credential, cookie, other))).toBe('let in')
    expect(await outcome(finish(credential, cookie, world))).toBe('LOGIN_FAILED')
  })

  test.each<[string, Lies, RegExp]>([
    ['another origin', { origin: 'https://tenantry.example.evil.example' }, /origin/],
    ['another port', { origin: 'https://tenantry.example:8443' }, /origin/],
    ['the name of another installation', { rpId: 'other.example' }, /RP ID/],
    ['a person who was not verified', { isVerified: false }, /could not be verified/],
    ['another key', { key: anotherKey() }, /signature is wrong/],
    ['another challenge', { challenge: 'AAAA' }, /challenge/],
    ['the answer to a creation', { type: 'webauthn.create' }, /type/],
    ['the handle of another account', { userHandle: 'AAAA' }, /another account/],
  ])('%s is refused, recorded with its reason, and answered like any other refusal', async (_, lies, reason) => {
    const { world, logIn } = await enrolled(await fresh())
    await expect(logIn(lies)).rejects.toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringMatching(/^The passkey was not accepted/),
    })
    const [entry, ...more] = await refusals(world)
    expect(entry).toEqual({
      action: 'account.passkey-refused',
      subject: 'anna',
      data: { address, passkey: 'Phone', reason: expect.stringMatching(reason) },
    })
    expect(more).toEqual([])
    expect(await outcome(logIn())).toBe('let in')
  })

  test('a challenge counts once, whether its answer held or not', async () => {
    const { world, authenticator, finish } = await enrolled(await fresh())
    const first = beginPasskeyLogin(world)
    const good = authenticator.get(first.request)
    const both = await Promise.all([outcome(finish(good, first.cookie)), outcome(finish(good, first.cookie))])
    expect(both.toSorted()).toEqual(['LOGIN_FAILED', 'let in'])
    const second = beginPasskeyLogin(world)
    expect(await outcome(finish(authenticator.get(second.request, { isVerified: false }), second.cookie))).toBe('LOGIN_FAILED')
    expect(await outcome(finish(authenticator.get(second.request), second.cookie))).toBe('LOGIN_FAILED')
    // The answer to one challenge with the cookie of another.
    const third = beginPasskeyLogin(world)
    expect(await outcome(finish(good, third.cookie))).toBe('LOGIN_FAILED')
  })

  test('a challenge lasts five minutes, in its own browser; answered ones are cleaned up', async () => {
    const { world, authenticator, finish } = await enrolled(await fresh())
    const { request, cookie } = beginPasskeyLogin(world)
    await expect(finish(authenticator.get(request), undefined)).rejects.toMatchObject({
      message: expect.stringContaining('another browser'),
    })
    expect(await outcome(finish(authenticator.get(request), changed(cookie)))).toBe('LOGIN_FAILED')
    expect(await world.db.selectFrom('admin_passkey_challenges').select('hash').execute()).toHaveLength(1)
    await world.clock.advance(5 * minuteMs)
    expect(await outcome(finish(authenticator.get(request), cookie))).toBe('LOGIN_FAILED')
    await world.clock.advance(5 * minuteMs)
    expect(await outcome(finish(authenticator.get(request), cookie))).toBe('LOGIN_FAILED')
    // Only the one that added the passkey was answered, and it has expired.
    expect(await world.db.selectFrom('admin_passkey_challenges').select('hash').execute()).toEqual([])
  })

  test('the challenge of a login adds no passkey, and that of a session none to another session', async () => {
    const { world, actor, finish, authenticator } = await enrolled(await fresh())
    const { actor: other } = await aSession(world)
    const { creation, cookie } = await beginPasskey(world, actor)
    const add = (as: AdminActor, with_: string) =>
      outcome(addPasskey(world, as, { name: 'Laptop', credential: anAuthenticator(origin).create(creation), cookie: with_ }))
    expect(await add(actor, beginPasskeyLogin(world).cookie)).toBe('LOGIN_FAILED')
    expect(await add(other, cookie)).toBe('LOGIN_FAILED')
    const request = { challenge: creation.challenge, rpId: creation.rp.id, timeout: 1, userVerification: 'required' } as const
    expect(await outcome(finish(authenticator.get(request), cookie))).toBe('LOGIN_FAILED')
    expect(await add(actor, cookie)).toBe('let in')
    expect(await add(actor, cookie)).toBe('LOGIN_FAILED')
  })

  test.each<[string, Lies, RegExp]>([
    ['another origin', { origin: 'https://evil.example' }, /origin/],
    ['another installation', { rpId: 'other.example' }, /RP ID/],
    ['another challenge', { challenge: 'AAAA' }, /challenge/],
    ['a person who was not verified', { isVerified: false }, /could not be verified/],
    ['the answer to a login', { type: 'webauthn.get' }, /type/],
    ['a certificate', { attestation: aCertificate() }, /certificate of its maker/],
    ['a form that nobody asked for', { attestation: [text('fmt'), text('apple'), text('attStmt'), map([])] }, /certificate of its maker/],
  ])('no passkey is added with %s', async (_, lies, reason) => {
    const world = await aWorld(await fresh())
    await anAccount(world)
    const { actor } = await aSession(world)
    const refused = await aDevice(world)
      .add(actor, { lies })
      .catch((error) => error)
    expect(refused).toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringMatching(/^The passkey does not hold: .*Nothing was changed/),
    })
    expect(refused.message).toMatch(reason)
    expect(await listPasskeys(world, actor, {})).toEqual([])
  })

  test('a counter that does not grow is refused where the authenticator counts', async () => {
    const { world, authenticator, logIn } = await enrolled(await fresh(), { counts: true })
    expect(await outcome(logIn())).toBe('let in')
    expect(await outcome(logIn())).toBe('let in')
    expect(await outcome(logIn({ counter: 3 }))).toBe('LOGIN_FAILED')
    expect(await outcome(logIn({ counter: 0 }))).toBe('LOGIN_FAILED')
    expect((await refusals(world)).map(({ data }) => data.reason)).toEqual([
      expect.stringMatching(/counter/),
      expect.stringMatching(/counter/),
    ])
    expect(authenticator.passkey().counter).toBe(5)
    expect(await outcome(logIn())).toBe('let in')
  })

  test('two answers with the same count open one session', async () => {
    const { world, authenticator, finish } = await enrolled(await fresh(), { counts: true })
    const [one, two] = [beginPasskeyLogin(world), beginPasskeyLogin(world)]
    const answers = [authenticator.get(one.request, { counter: 2 }), authenticator.get(two.request, { counter: 2 })] as const
    const both = await Promise.all([outcome(finish(answers[0], one.cookie)), outcome(finish(answers[1], two.cookie))])
    expect(both.toSorted()).toEqual(['LOGIN_FAILED', 'let in'])
  })

  test('a removed passkey logs in no more; another account can neither list nor remove it', async () => {
    const { world, actor, passkey, authenticator, logIn } = await enrolled(await fresh())
    await anAccount(world, 'ben', 'operator')
    const { actor: ben } = await aSession(world, 'ben')
    const bens = aDevice(world)
    await bens.add(ben)
    await expect(listPasskeys(world, ben, { account: actor.accountId })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(removePasskey(world, ben, passkey)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    // Ben's key with the id of Anna's passkey, and the other way.
    expect(await outcome(bens.logIn({ key: authenticator.passkey().key }))).toBe('LOGIN_FAILED')
    expect(await outcome(logIn({ key: bens.authenticator.passkey().key }))).toBe('LOGIN_FAILED')
    expect(await outcome(logIn())).toBe('let in')
    await removePasskey(world, actor, passkey)
    expect((await audited(world)).at(-1)).toEqual({
      action: 'account.passkey-removed',
      subject: 'anna',
      data: { id: passkey.id, name: 'Phone' },
    })
    expect(await outcome(logIn())).toBe('LOGIN_FAILED')
    await expect(removePasskey(world, actor, passkey)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const [ofBen] = await listPasskeys(world, actor, { account: ben.accountId })
    await removePasskey(world, actor, { id: ofBen?.id ?? '' })
    expect(await outcome(bens.logIn())).toBe('LOGIN_FAILED')
    expect(await outcome(login(world, { name: 'ben', password: aPassword, address }))).toBe('let in')
  })

  test('a disabled account stays out, recorded as refused', async () => {
    const { world, actor, logIn } = await enrolled(await fresh())
    await anAccount(world, 'ben')
    await disableAccount(world, (await aSession(world, 'ben')).actor, { id: actor.accountId })
    expect(await outcome(logIn())).toBe('LOGIN_FAILED')
    expect(await refusals(world)).toMatchObject([{ subject: 'anna', data: { reason: expect.stringMatching(/^the account is disabled/) } }])
  })

  test('refused passkeys lock like wrong passwords, and a locked account is locked for both', async () => {
    const { world, actor, logIn } = await enrolled(await fresh())
    for (let n = 0; n < 10; n++) expect(await outcome(logIn({ isVerified: false }))).toBe('LOGIN_FAILED')
    expect(await outcome(logIn())).toBe('ACCOUNT_LOCKED')
    expect(await outcome(login(world, { name: 'anna', password: aPassword, address }))).toBe('ACCOUNT_LOCKED')
    expect((await audited(world)).at(-1)).toMatchObject({ action: 'account.locked', subject: 'anna', data: { address } })
    await unlockAccount(world, actor, { name: 'anna' })
    expect(await outcome(logIn())).toBe('let in')
  })

  test('a login by passkey forgets the failures before it', async () => {
    const { world, logIn } = await enrolled(await fresh())
    for (let n = 0; n < 9; n++) expect(await outcome(logIn({ isVerified: false }))).toBe('LOGIN_FAILED')
    expect(await outcome(logIn())).toBe('let in')
    expect(await world.db.selectFrom('login_failures').selectAll().execute()).toEqual([])
  })

  test('a reset of password or one-time codes removes the passkeys, and no session adds one after it', async () => {
    const db = await fresh()
    const { world, actor, add, logIn } = await enrolled(db)
    await anAccount(world, 'ben')
    const { actor: ben } = await aSession(world, 'ben')
    const { creation, cookie } = await beginPasskey(world, actor)
    await resetPassword(world, ben, { id: actor.accountId })
    expect(await outcome(logIn())).toBe('LOGIN_FAILED')
    const late = addPasskey(world, actor, { name: 'Late', credential: anAuthenticator(origin).create(creation), cookie })
    expect(await outcome(late)).toBe('UNAUTHENTICATED')
    expect((await audited(world)).at(-1)).toMatchObject({ action: 'account.password-reset', data: { passkeys: 1 } })
    await expect(add(actor)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const bens = aDevice(world)
    await bens.add(ben)
    await resetTotp(world, { kind: 'system', name: 'test' }, { name: 'ben' })
    expect(await outcome(bens.logIn())).toBe('LOGIN_FAILED')
    expect((await audited(world)).at(-1)).toMatchObject({ action: 'account.totp-reset', data: { passkeys: 1 } })
  })

  test('an account has at most ten passkeys, each with its own name and once', async () => {
    const { world, actor, add, authenticator } = await enrolled(await fresh())
    await expect(add(actor)).rejects.toMatchObject({ code: 'ALREADY_EXISTS', message: expect.stringContaining('Phone') })
    const { creation, cookie } = await beginPasskey(world, actor)
    expect(creation.excludeCredentials).toHaveLength(1)
    const credential = anAuthenticator(origin).create(creation)
    await addPasskey(world, actor, { name: 'Key', credential, cookie })
    // The same key again: only its challenge is new.
    const again = await beginPasskey(world, actor)
    const clientDataJSON = Buffer.from(JSON.stringify({ type: 'webauthn.create', challenge: again.creation.challenge, origin }))
    const copy = { ...credential, clientDataJSON: clientDataJSON.toString('base64url') }
    await expect(addPasskey(world, actor, { name: 'Copy', credential: copy, cookie: again.cookie })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('added already'),
    })
    for (let n = 2; n < 10; n++) await add(actor, { name: `Key ${n}` })
    await expect(add(actor, { name: 'One more' })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('10 passkeys'),
    })
    expect(authenticator.passkey().counter).toBe(0)
  })

  test('an account of the provider has none, also when it had one before', async () => {
    const { world, actor, add, logIn } = await enrolled(await fresh())
    await world.db.updateTable('admin_accounts').set({ provider_issuer: 'https://id.example', provider_subject: 'anna' }).execute()
    await expect(add(actor)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('logs in at the provider') })
    expect(await outcome(logIn())).toBe('LOGIN_FAILED')
  })

  test('an ended session adds none', async () => {
    const world = await aWorld(await fresh())
    await anAccount(world)
    const { actor } = await aSession(world)
    const { creation, cookie } = await beginPasskey(world, actor)
    await logout(world, actor)
    const late = addPasskey(world, actor, { name: 'Late', credential: anAuthenticator(origin).create(creation), cookie })
    expect(await outcome(late)).toBe('UNAUTHENTICATED')
  })

  test('without a name or https there are none, and the answer says what to set', async () => {
    const world = await aWorld(await fresh(), { baseUrl: 'http://127.0.0.1:8440' })
    await anAccount(world)
    const { actor } = await aSession(world)
    const config = { code: 'CONFIG', message: expect.stringContaining('TENANTRY_PUBLIC_URL') }
    await expect(beginPasskey(world, actor)).rejects.toMatchObject(config)
    expect(() => beginPasskeyLogin(world)).toThrow(expect.objectContaining(config))
  })

  test('over HTTP: cookies that no script reads, of the own page alone', async () => {
    const world = await aWorld(await fresh(), { baseUrl: 'http://localhost:8440' })
    await anAccount(world)
    const { authorization } = await aSession(world)
    const { url } = await servedApp(adminRoutes(world), { authenticate: { admin: world.authenticate }, clock: world.clock })
    const call = async (name: keyof typeof adminContract, body: unknown, headers: Record<string, string>) => {
      const { path, method } = adminContract[name]
      const sent = { 'content-type': 'application/json', ...headers }
      const response = await fetch(url + path, { method, headers: sent, ...(body ? { body: JSON.stringify(body) } : {}) })
      const cookies = response.headers.getSetCookie()
      return { status: response.status, cookies, cookie: cookies[0]?.split(';')[0] ?? '', json: (await response.json()) as never }
    }
    const authenticator = anAuthenticator('http://localhost:8440')
    const begun = await call('beginPasskey', undefined, { authorization })
    expect(begun.cookies).toEqual([expect.stringMatching(/^tenantry-console-passkey=.*HttpOnly; SameSite=Strict; Max-Age=300$/)])
    const made = { name: ' Phone ', credential: authenticator.create(begun.json) }
    const added = await call('addPasskey', made, { authorization, cookie: begun.cookie })
    expect(added).toMatchObject({ status: 201, json: { name: 'Phone', lastUsedAt: null } })
    const own = { 'x-tenantry-console': '1', origin: 'http://localhost:8440' }
    expect((await call('beginPasskeyLogin', undefined, { ...own, origin: 'https://evil.example' })).status).toBe(403)
    const login = await call('beginPasskeyLogin', undefined, own)
    const credential = authenticator.get(login.json)
    expect(
      (await call('openConsoleByPasskey', { credential }, { ...own, 'sec-fetch-site': 'cross-site', cookie: login.cookie })).status,
    ).toBe(403)
    const opened = await call('openConsoleByPasskey', { credential }, { ...own, cookie: login.cookie })
    expect(opened).toMatchObject({ status: 200, json: { account: { name: 'anna' }, setup: [] } })
    expect(opened.cookies.toSorted()).toEqual([
      expect.stringMatching(/^tenantry-console-passkey=; Max-Age=0/),
      expect.stringMatching(/^tenantry-console=[A-Za-z0-9_-]{43};/),
    ])
    const large = { credential: { ...credential, clientDataJSON: 'A'.repeat(40_000) } }
    expect((await call('openConsoleByPasskey', large, { ...own, cookie: login.cookie })).status).toBe(413)
  })
})

function anotherKey() {
  const authenticator = anAuthenticator(origin)
  const user = { id: 'AAAA', name: 'x', displayName: 'x' }
  authenticator.create({ challenge: 'AAAA', rp: { id: 'tenantry.example' }, user } as never)
  return authenticator.passkey().key
}

/** Its revocation list would be fetched. */
function aCertificate() {
  const certificates = list([bytes(Buffer.from('a certificate with an address'))])
  return [text('fmt'), text('packed'), text('attStmt'), map([text('x5c'), certificates])]
}
