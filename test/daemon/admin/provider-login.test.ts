import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminContract } from '../../../src/core/admin/index.ts'
import { type AdminActor, type Clock, isoIn, isoNow, type ProblemCode } from '../../../src/core/kit/index.ts'
import { changeAccountRole, disableAccount, resetPassword } from '../../../src/daemon/admin/accounts.ts'
import { approveCliLogin, beginCliLogin, finishCliLogin, showCliLogin } from '../../../src/daemon/admin/cli-logins.ts'
import { adminRoutes, authenticateConsole, type CompanyLogin, openLoginProvider } from '../../../src/daemon/admin/index.ts'
import { login } from '../../../src/daemon/admin/login.ts'
import { changePassword } from '../../../src/daemon/admin/passwords.ts'
import { beginProviderLogin, finishProviderLogin } from '../../../src/daemon/admin/provider-login.ts'
import { reauthenticate } from '../../../src/daemon/admin/reauthenticate.ts'
import { createToken } from '../../../src/daemon/admin/tokens.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { anAccount, anAdminWorld, aPassword, aSession } from '../../support/admin-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { anOidcProvider } from '../../support/oidc-provider.ts'
import { servedApp } from '../../support/served-app.ts'

const address = '192.0.2.7'
const anna = { sub: 'subject-1', email: 'Anna@School.example', groups: ['staff', 'tenantry-operators'] }
const roles = { viewer: ['staff'], reviewer: [], operator: ['tenantry-operators'], admin: ['tenantry-admins'] }

let op: Awaited<ReturnType<typeof anOidcProvider>>
beforeAll(async () => {
  op = await anOidcProvider()
})
afterAll(() => op.stop())

async function aCompany(db: Db, { totpRequired = false } = {}) {
  const world = await anAdminWorld(db, { totpRequired })
  const settings = {
    ...{ issuer: op.url, clientId: 'tenantry', clientSecret: undefined, name: 'Example ID', scopes: ['openid'] },
    ...{ nameClaim: 'email', groupsClaim: 'groups', redirectUri: 'http://127.0.0.1:8440/console/login/provider' },
  }
  const provider = openLoginProvider(settings, () => world.clock.monotonicMs())
  const company: CompanyLogin = { provider, nameClaim: 'email', groupsClaim: 'groups', roles, secondFactor: { acr: [], amr: ['mfa'] } }
  const deps = { ...world, company }
  const begin = (prove = false) => beginProviderLogin(deps, { next: '/boxes', prove })
  const finish = (query: string, loginCookie: string | undefined) => finishProviderLogin(deps, { query, loginCookie, address })
  /** The whole way of a person. */
  const comes = async (claims: Record<string, unknown> = anna) => {
    const begun = await begin()
    return finish(op.logIn(begun.address, claims), begun.cookie)
  }
  const audit = async () => (await db.selectFrom('audit').select(['action', 'actor', 'subject']).orderBy('seq').execute()).slice(-3)
  return { deps, world, begin, finish, comes, audit }
}

onBothDialects('login by the company account', (fresh) => {
  test('the first login makes an account of the name and the highest role; a later one follows the groups', async () => {
    const { deps, comes, audit } = await aCompany(await fresh())
    const { opened } = await comes()
    expect(opened).toMatchObject({ next: '/boxes', account: { name: 'anna@school.example', role: 'operator' }, setup: [] })
    expect((await audit()).map(({ action }) => action).slice(-2)).toEqual(['account.created', 'session.opened'])
    const again = await comes({ ...anna, email: 'renamed@school.example', groups: 'tenantry-admins' })
    expect(again.opened.account).toEqual({ ...opened.account, role: 'admin' })
    expect(await audit()).toContainEqual({ action: 'account.role-changed', actor: 'system:login-provider', subject: 'anna@school.example' })
    const session = await deps.db.selectFrom('admin_sessions').select('proven_at').executeTakeFirstOrThrow()
    expect(session.proven_at).toBe(isoNow(deps.clock))
  })

  test('claims that the ID token lacks are read from the user information', async () => {
    const { comes } = await aCompany(await fresh())
    op.setUserInfo(anna)
    expect((await comes({ sub: anna.sub })).opened.account).toMatchObject({ name: 'anna@school.example', role: 'operator' })
    // The other person's information is no answer.
    await expect(comes({ sub: 'subject-2' })).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
  })

  test.each<[string, Record<string, unknown>, ProblemCode, RegExp]>([
    ['no group with a role', { groups: ['pupils'] }, 'FORBIDDEN', /None of your groups at the Example ID/],
    ['groups of another form', { groups: { admin: 'tenantry-admins' } }, 'FORBIDDEN', /None of your groups/],
    ['no name', { email: undefined }, 'FORBIDDEN', /claim email .* no name of an account: ""/],
    ['a name that is none', { email: 'Anna <anna@school.example>' }, 'FORBIDDEN', /no name of an account/],
    ['a mail address that is not verified', { email_verified: false }, 'FORBIDDEN', /has not verified .*anna@school/i],
    ['the name of an account with a password', { email: 'bruno' }, 'CONFLICT', /bruno exists already/],
  ])('%s is refused with the reason, and no account is made', async (_, claims, code, message) => {
    const { world, comes } = await aCompany(await fresh())
    await anAccount(world, 'bruno')
    op.setUserInfo({ sub: anna.sub })
    await expect(comes({ ...anna, ...claims })).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    expect(await world.db.selectFrom('admin_accounts').select('name').execute()).toEqual([{ name: 'bruno' }])
  })

  test('a login without a group that gives a role ends sessions and API tokens, unless the provider sends no groups', async () => {
    const { deps, world, comes, audit } = await aCompany(await fresh())
    const admin = { ...anna, groups: ['tenantry-admins'] }
    const { cookie, opened } = await comes(admin)
    const own = { 'x-tenantry-console': '1', 'sec-fetch-site': 'same-origin', host: new URL(deps.baseUrl).host }
    const headers = { ...own, cookie: deps.console.cookie(cookie).split(';')[0] ?? '' }
    const authenticate = authenticateConsole(deps)
    const actor = (await authenticate(headers, {})) as AdminActor
    const tooLong = createToken(deps, actor, { name: 'ci', role: 'operator', days: 91 })
    await expect(tooLong).rejects.toMatchObject({ code: 'VALIDATION', details: [{ path: 'days' }] })
    const { token } = await createToken(deps, actor, { name: 'ci', role: 'operator', days: 90 })
    const both = () => Promise.all([authenticate(headers, {}), world.authenticate(`Bearer ${token}`)])
    op.setUserInfo({ sub: anna.sub })
    await expect(comes({ ...anna, groups: undefined })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await both()).toHaveLength(2)
    await expect(comes({ ...anna, groups: ['pupils'] })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(authenticate(headers, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await expect(world.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const ended = { action: 'account.role-changed', actor: 'system:login-provider', subject: opened.account.name }
    expect(await audit()).toEqual([expect.anything(), expect.objectContaining({ action: 'token.created' }), ended])
    await expect(comes({ ...anna, groups: [] })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    // Nothing is left to end.
    expect((await audit()).map(({ action }) => action)).toEqual(['session.opened', 'token.created', 'account.role-changed'])
    expect((await comes(admin)).opened.account).toEqual(opened.account)
    await anAccount(world, 'bruno', 'admin')
    const { actor: bruno } = await aSession(world, 'bruno')
    expect(await createToken(deps, bruno, { name: 'yearly', role: 'viewer', days: 365 })).toMatchObject({ name: 'yearly' })
  })

  test('a role that needs a second factor needs one of the provider', async () => {
    const { comes } = await aCompany(await fresh(), { totpRequired: true })
    await expect(comes()).rejects.toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining('amr: none') })
    expect((await comes({ ...anna, amr: ['pwd', 'mfa'] })).opened).toMatchObject({ account: { role: 'operator' }, setup: [] })
    expect((await comes({ ...anna, groups: ['staff'] })).opened.account.role).toBe('viewer')
  })

  test('a lower role holds although it lacks the second factor that it needs; a higher one does not', async () => {
    const { deps, world, comes, audit } = await aCompany(await fresh(), { totpRequired: true })
    const { cookie } = await comes({ ...anna, groups: ['tenantry-admins'], amr: ['mfa'] })
    const own = { 'x-tenantry-console': '1', 'sec-fetch-site': 'same-origin', host: new URL(deps.baseUrl).host }
    const headers = { ...own, cookie: deps.console.cookie(cookie).split(';')[0] ?? '' }
    const authenticate = authenticateConsole(deps)
    const { token } = await createToken(deps, (await authenticate(headers, {})) as AdminActor, { name: 'ci', role: 'operator', days: 9 })
    const refused = { code: 'FORBIDDEN', message: expect.stringContaining('role operator needs a second factor') }
    await expect(comes()).rejects.toMatchObject(refused)
    expect(await authenticate(headers, {})).toMatchObject({ role: 'operator' })
    expect(await world.authenticate(`Bearer ${token}`)).toMatchObject({ role: 'operator' })
    const lowered = { action: 'account.role-changed', actor: 'system:login-provider', subject: 'anna@school.example' }
    expect((await audit()).at(-1)).toEqual(lowered)
    const before = await audit()
    await expect(comes()).rejects.toMatchObject(refused)
    await expect(comes({ ...anna, groups: ['tenantry-admins'] })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await audit()).toEqual(before)
    expect(await authenticate(headers, {})).toMatchObject({ role: 'operator' })
  })

  test('a disabled account stays out; its role and password are not set here', async () => {
    const { deps, world, comes } = await aCompany(await fresh())
    const { account } = (await comes()).opened
    await anAccount(world, 'bruno')
    const { actor } = await aSession(world, 'bruno')
    await expect(changeAccountRole(deps, actor, { id: account.id, role: 'admin' })).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(resetPassword(deps, actor, { id: account.id })).rejects.toMatchObject({ code: 'CONFLICT' })
    const byPassword = login(deps, { name: account.name, password: aPassword, address })
    await expect(byPassword).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    await disableAccount(deps, actor, { id: account.id })
    await expect(comes()).rejects.toMatchObject({ code: 'LOGIN_FAILED', message: expect.stringContaining('disabled') })
  })

  test('a command line is logged in once, by the account that approves it', async () => {
    const { deps, world, comes } = await aCompany(await fresh())
    await comes()
    await anAccount(world, 'bruno')
    const { actor } = await aSession(world, 'bruno')
    const { deviceCode, userCode, page } = await beginCliLogin(deps, { address, baseUrl: deps.baseUrl })
    expect(page).toBe(`${deps.baseUrl}/console/login/cli?code=${userCode}`)
    expect(await finishCliLogin(deps, deviceCode)).toBeUndefined()
    expect(await showCliLogin(deps, userCode)).toMatchObject({ userCode, address })
    await approveCliLogin(deps, actor, userCode)
    await expect(approveCliLogin(deps, actor, userCode)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const session = await finishCliLogin(deps, deviceCode)
    expect(await world.authenticate(`Bearer ${session?.token}`, { reauthenticated: true })).toMatchObject({ name: 'bruno' })
    await expect(finishCliLogin(deps, deviceCode)).rejects.toMatchObject({ code: 'LOGIN_FAILED' })

    const late = await beginCliLogin(deps, { address, baseUrl: deps.baseUrl })
    await approveCliLogin(deps, actor, late.userCode)
    await world.clock.advance(10 * 60_000)
    await expect(finishCliLogin(deps, late.deviceCode)).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    await expect(finishCliLogin(deps, 'unknown')).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
  })

  /** Logins that wait, one of each address. */
  const strangers = (db: Db, clock: Clock, addresses: readonly string[]) => {
    const [created_at, expires_at] = [isoNow(clock), isoIn(clock, 1000)]
    const rows = addresses.map((from, n) => ({ device_hash: `${n}`, user_code: `${n}`, address: from, created_at, expires_at }))
    return db
      .insertInto('admin_cli_logins')
      .values(rows.map((row) => ({ ...row, account_id: null, proven_at: null })))
      .execute()
  }
  const numbered = (count: number, from: (n: number) => string) => Array.from({ length: count }, (_, n) => from(n))

  test('no more than 1,000 strangers wait', async () => {
    const { deps } = await aCompany(await fresh())
    await strangers(
      deps.db,
      deps.clock,
      numbered(1000, (n) => `198.51.${Math.floor(n / 200)}.${n % 200}`),
    )
    const begin = () => beginCliLogin(deps, { address, baseUrl: deps.baseUrl })
    await expect(begin()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await deps.clock.advance(1000)
    await begin()
  })

  test.each([
    ['an address', numbered(20, () => '198.51.100.1'), '198.51.100.1', '198.51.101.1'],
    ['a network', numbered(20, (n) => `198.51.100.${n}`), '198.51.100.200', '198.51.101.1'],
    ['an IPv6 network', numbered(20, (n) => `2001:db8:0:${n + 1}::1`), '2001:db8:0:ff::1', '2001:db8:1::1'],
  ])('one stranger takes no place of others: of %s at most 20 wait', async (_, waiting, own, other) => {
    const { deps } = await aCompany(await fresh())
    await strangers(deps.db, deps.clock, waiting)
    const begin = (from: string) => beginCliLogin(deps, { address: from, baseUrl: deps.baseUrl })
    await expect(begin(own)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await begin(other)
  })

  test('what ends the sessions of an account ends its approved logins too', async () => {
    const { deps, world } = await aCompany(await fresh())
    await anAccount(world, 'bruno')
    const { actor } = await aSession(world, 'bruno')
    const begun = await beginCliLogin(deps, { address, baseUrl: deps.baseUrl })
    await approveCliLogin(deps, actor, begun.userCode)
    await changePassword(deps, actor, { currentPassword: aPassword, newPassword: 'another horse battery staple', address })
    await expect(finishCliLogin(deps, begun.deviceCode)).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
  })

  test('a session without a second factor does not get a role that needs one', async () => {
    const { deps, comes } = await aCompany(await fresh(), { totpRequired: true })
    const authenticate = authenticateConsole(deps)
    const headers = { 'x-tenantry-console': '1', 'sec-fetch-site': 'same-origin', host: new URL(deps.baseUrl).host }
    const callerOf = (cookie: string) => authenticate({ ...headers, cookie: deps.console.cookie(cookie).split(';')[0] ?? '' }, {})
    const { cookie: viewer } = await comes({ ...anna, groups: ['staff'] })
    expect(await callerOf(viewer)).toMatchObject({ role: 'viewer' })
    const { cookie: operator } = await comes({ ...anna, amr: ['mfa'] })
    expect(await callerOf(operator)).toMatchObject({ role: 'operator' })
    await expect(callerOf(viewer)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('the console gets its cookies, and the session counts', async () => {
    const { deps } = await aCompany(await fresh())
    const authenticate = { console: authenticateConsole(deps) }
    const { url } = await servedApp(adminRoutes(deps), { authenticate, clock: deps.clock })
    const call = (path: string, body: unknown, headers = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-tenantry-console': '1', 'sec-fetch-site': 'same-origin', ...headers },
        body: JSON.stringify(body),
      })
    expect((await call(adminContract.beginProviderLogin.path, {}, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    const begun = await call(adminContract.beginProviderLogin.path, { next: '/alerts' })
    const [loginCookie] = begun.headers.getSetCookie()
    expect(loginCookie).toMatch(/^tenantry-console-login=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=600$/)
    const query = op.logIn(((await begun.json()) as { address: string }).address, anna)
    const cookie = loginCookie?.split(';')[0] ?? ''
    const finished = await call(adminContract.finishProviderLogin.path, { query }, { cookie })
    expect(await finished.json()).toMatchObject({ next: '/alerts', account: { name: 'anna@school.example' } })
    const [deleted, session] = finished.headers.getSetCookie()
    expect(deleted).toMatch(/^tenantry-console-login=; Max-Age=0/)
    const own = { 'x-tenantry-console': '1', 'sec-fetch-site': 'same-origin', cookie: session?.split(';')[0] ?? '' }
    const who = await fetch(`${url}${adminContract.whoAmI.path}`, { headers: own })
    expect(await who.json()).toMatchObject({ login: 'provider', account: { role: 'operator' } })
  })
})

describe('answers of a provider', () => {
  const company = async () => {
    const { emptyDatabase } = await import('../../support/databases.ts')
    return aCompany((await emptyDatabase('sqlite')).db)
  }

  test.each<[string, (claims: Record<string, unknown>) => Record<string, unknown>]>([
    ['for another client', (claims) => ({ ...claims, aud: 'another' })],
    ['of another issuer', (claims) => ({ ...claims, iss: 'https://other.example' })],
    ['with the nonce of another login', (claims) => ({ ...claims, nonce: 'another' })],
    ['without a nonce', ({ nonce: _, ...claims }) => claims],
    ['that has expired', (claims) => ({ ...claims, exp: 1_700_000_000 })],
    ['of a login that is too old', (claims) => ({ ...claims, auth_time: 1_700_000_000 })],
    ['without the time of the login', ({ auth_time: _, ...claims }) => claims],
    ['without a subject', ({ sub: _, ...claims }) => claims],
  ])('a token %s opens nothing', async (_, change) => {
    const { comes } = await company()
    op.alterClaims(change)
    try {
      await expect(comes()).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    } finally {
      op.alterClaims((claims) => claims)
    }
    await comes()
  })

  test('an answer counts in the browser that asked, once, for ten minutes', async () => {
    const { deps, world, begin, finish } = await company()
    const [mine, other] = [await begin(), await begin()]
    const failed = { code: 'LOGIN_FAILED' }
    const query = op.logIn(mine.address, anna)
    await expect(finish(query, other.cookie)).rejects.toMatchObject(failed)
    await expect(finish(query, undefined)).rejects.toMatchObject(failed)
    await expect(finish(query, 'forged')).rejects.toMatchObject(failed)
    const foreign = await begin()
    const answer = op.logIn(foreign.address, anna).replace(encodeURIComponent(op.url), 'https://other.example')
    await expect(finish(answer, foreign.cookie)).rejects.toMatchObject(failed)
    await finish(query, mine.cookie)
    await expect(finish(query, mine.cookie)).rejects.toMatchObject(failed)
    const refusal = new URLSearchParams({
      error: 'access_denied',
      state: new URL(other.address).searchParams.get('state') ?? '',
      iss: op.url,
    })
    await expect(finish(refusal.toString(), other.cookie)).rejects.toMatchObject({
      ...failed,
      message: expect.stringContaining('access_denied'),
    })
    const late = op.logIn(other.address, anna)
    await world.clock.advance(10 * 60_000)
    await expect(finish(late, other.cookie)).rejects.toMatchObject(failed)
    expect(await deps.db.selectFrom('admin_sessions').select('id').execute()).toHaveLength(1)
  })

  test('an attempt is answered once: a further code of it is not exchanged', async () => {
    const { begin, finish } = await company()
    const { address: asked, cookie } = await begin()
    const forged = new URLSearchParams(op.logIn(asked, anna))
    forged.set('code', 'guessed')
    await expect(finish(forged.toString(), cookie)).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    const answered = { code: 'LOGIN_FAILED', message: expect.stringContaining('answered already') }
    await expect(finish(op.logIn(asked, anna), cookie)).rejects.toMatchObject(answered)
  })

  test('a key that it does not publish signs nothing; one that it changed to does', async () => {
    const { world, comes } = await company()
    op.changeKey({ secretly: true })
    await expect(comes()).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    op.changeKey()
    await world.clock.advance(60 * 60_000)
    await comes()
  })

  test('one that is away is named, and asked again', async () => {
    const { begin, comes } = await company()
    await op.stop()
    await expect(begin()).rejects.toMatchObject({ code: 'LOGIN_PROVIDER_UNAVAILABLE', message: expect.stringContaining(op.url) })
    await op.start()
    await comes()
  })

  test('a session that proves itself again goes to the provider, with a login there', async () => {
    const { deps, begin, comes } = await company()
    const { account } = (await comes()).opened
    const actor = { kind: 'admin' as const, accountId: account.id, name: account.name, role: account.role, sessionId: 'ses_0' }
    const proof = reauthenticate(deps, actor, { password: aPassword, address })
    await expect(proof).rejects.toMatchObject({ code: 'WRONG_PASSWORD', message: expect.stringContaining('at the provider') })
    const asked = new URL((await begin(true)).address).searchParams
    expect([asked.get('prompt'), asked.get('max_age'), asked.get('code_challenge_method')]).toEqual(['login', '600', 'S256'])
  })
})
