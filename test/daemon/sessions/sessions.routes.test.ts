import { Writable } from 'node:stream'
import { decodeJwt } from 'jose'
import { pino } from 'pino'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Db } from '../../../src/daemon/db/index.ts'
import { sessionsRoutes } from '../../../src/daemon/sessions/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import type { ChatServer } from '../../support/homeservers.ts'
import { servedApp } from '../../support/served-app.ts'
import { aChatUser, aPassword, aSessionsWorld, emptied, type SessionsWorld, twoTenants } from '../../support/sessions-world.ts'

// The table of spec 4.1 and 7, line by line, over HTTP: what a client sends and sees.

let db: Db
let room: SessionsWorld
let chat: ChatServer
let baseUrl: string
/** The tenant whose budget a response shows. */
let shown: string[]
let logged: string[]

beforeAll(async () => {
  db = (await emptyDatabase('sqlite')).db
  return () => db.destroy()
})

beforeEach(async () => {
  await emptied(db)
  const servers = await twoTenants(db)
  chat = servers.ten_one
  await aChatUser(chat)
  room = await aSessionsWorld(db, servers)
  shown = []
  logged = []
  const sink = new Writable({ write: (line, _, done) => done(void logged.push(String(line))) })
  const limits = {
    addresses: () => undefined,
    anonymous: (_: unknown, __: unknown, next: () => void) => next(),
    share: (_: unknown, __: unknown, next: () => void) => next(),
    paceRefusal: async () => true,
    pass: async () => true,
    show: async (_: unknown, tenantId: string) => void shown.push(tenantId),
  }
  const { url } = await servedApp(sessionsRoutes(room), {
    ...{ authenticate: { platform: room.authenticate }, clock: room.clock, limits, log: pino({}, sink) },
  })
  baseUrl = `${url}/api/auth/v1`
  return () => room.stop()
})

type Body = Record<string, unknown>
type Answer = { status: number; body: Body; headers: Headers }

/** Refusals are delayed by the clock of the test, which advances while a response is awaited. */
async function send(method: string, path: string, body?: unknown, token?: string): Promise<Answer> {
  const headers: Record<string, string> = { connection: 'close', ...(token ? { authorization: `Bearer ${token}` } : {}) }
  if (body !== undefined) headers['content-type'] = 'application/json'
  let answered = false
  const asked = fetch(`${baseUrl}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }).finally(
    () => {
      answered = true
    },
  )
  while (!answered) {
    await new Promise((turn) => setImmediate(turn))
    if (!answered && room.clock.waiting() > 0) await room.clock.advance(50)
  }
  const response = await asked
  const text = await response.text()
  return { status: response.status, body: text === '' ? {} : JSON.parse(text), headers: response.headers }
}
const post = (path: string, body?: unknown, token?: string) => send('POST', path, body, token)

const right = { tenant: 'one', username: 'anna', password: aPassword, deviceName: 'Phone', issueRefreshToken: true }
const loggedIn = async () => (await post('/login', right)).body as Record<'token' | 'refreshToken' | 'matrixAccessToken', string>

/** The body of every failure has these fields (spec 2.5). */
const failure = (code: string, retryable = false) => ({ code, message: expect.any(String), retryable })

describe('POST /login', () => {
  test('200 with the fields of spec 2.3', async () => {
    const { status, body } = await post('/login', right)
    expect([status, Object.keys(body).sort()]).toEqual([
      200,
      ['expiresIn', 'homeserver', 'matrixAccessToken', 'matrixUserId', 'refreshToken', 'refreshTokenExpiresAt', 'token'],
    ])
    expect(body).toMatchObject({ expiresIn: 86_400, matrixUserId: '@anna:chat.one.example' })
  })

  test('200 without refresh token and device name if not requested', async () => {
    const { tenant, username, password } = right
    const { status, body } = await post('/login', { tenant, username, password })
    expect([status, Object.keys(body).sort()]).toEqual([200, ['expiresIn', 'homeserver', 'matrixAccessToken', 'matrixUserId', 'token']])
    const { iat = 0, exp = 0 } = decodeJwt(String(body.token))
    expect([body.expiresIn, exp - iat]).toEqual([86_400, 86_400])
    expect([...chat.tokens.values()]).toEqual([{ localpart: 'anna', deviceName: 'Platform login' }])
  })

  test('the same 401, byte for byte, for unknown tenant, unknown user and wrong password', async () => {
    const answers = []
    for (const wrong of [{ tenant: 'nowhere' }, { username: 'nobody' }, { password: 'wrong' }])
      answers.push(await post('/login', { ...right, ...wrong }))
    for (const { status, body } of answers) expect([status, body]).toEqual([401, failure('LOGIN_FAILED')])
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    const named = ({ headers }: Answer) => [...headers.keys()].sort().join()
    expect(new Set(answers.map(named)).size).toBe(1)
  })

  test('each refusal is one line in the log, with address, route and the tenant and user that exist, but no credential', async () => {
    const { body } = await post('/login', right)
    for (const wrong of [{ tenant: 'no-tenant' }, { username: 'nobody' }, { password: 'hunter2' }])
      await post('/login', { ...right, ...wrong })
    await send('GET', '/sessions', undefined, 'no.such.token')
    await send('POST', '/change-password', { currentPassword: 'hunter2', newPassword: 'several long words' }, String(body.token))
    const lines = logged.map((line) => JSON.parse(line))
    const user = expect.stringMatching(/^usr_/)
    const [address, status, login] = ['127.0.0.1', 401, { method: 'POST', route: '/api/auth/v1/login', code: 'LOGIN_FAILED' }]
    expect(lines.filter(({ msg }) => msg === 'access refused')).toEqual(
      [
        { address, status, ...login },
        { address, status, ...login, tenant: 'one' },
        { address, status, ...login, tenant: 'one', user },
        { address, status, method: 'GET', route: '/api/auth/v1/sessions', code: 'UNAUTHENTICATED' },
        { address, method: 'POST', route: '/api/auth/v1/change-password', code: 'WRONG_PASSWORD', tenant: 'one', user },
      ].map((line) => expect.objectContaining(line)),
    )
    const requests = lines.filter(({ msg }) => msg === 'request')
    expect(requests.map((line) => line.address)).toEqual(requests.map(() => address))
    expect(lines.filter(({ msg }) => msg === 'access refused')[0]).not.toHaveProperty('tenant')
    expect(logged.join()).not.toMatch(/hunter2|no\.such\.token|no-tenant|nobody/)
  })

  test('429 with Retry-After once locked, also with the right password', async () => {
    for (let n = 0; n < 10; n++) expect((await post('/login', { ...right, password: 'wrong' })).status).toBe(401)
    const { status, body, headers } = await post('/login', right)
    expect([status, body]).toEqual([429, failure('ACCOUNT_LOCKED', true)])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(890)
  })

  test('503 with Retry-After while the chat server is down', async () => {
    chat.fail({ kind: 'unreachable', retryAfterSeconds: 10, reason: 'ECONNREFUSED' })
    const { status, body, headers } = await post('/login', right)
    expect([status, body, headers.get('retry-after')]).toEqual([503, failure('HOMESERVER_UNREACHABLE', true), '10'])
  })

  test.each([{}, { ...right, username: '@anna' }, { ...right, username: 'anna:chat.one.example' }, { ...right, password: 1 }])(
    '400 for %j',
    async (body) => {
      expect((await post('/login', body)).body).toMatchObject(failure('VALIDATION'))
    },
  )
})

describe('POST /refresh', () => {
  test('200 with the fields of spec 2.4 and no chat token', async () => {
    const { refreshToken } = await loggedIn()
    const { status, body } = await post('/refresh', { refresh_token: refreshToken })
    expect([status, Object.keys(body).sort()]).toEqual([200, ['expiresIn', 'refreshToken', 'refreshTokenExpiresAt', 'token']])
  })

  test('401 REFRESH_TOKEN_REUSED for a used token, 401 for any other', async () => {
    const { refreshToken } = await loggedIn()
    const { body } = await post('/refresh', { refresh_token: refreshToken })
    expect(await post('/refresh', { refresh_token: refreshToken })).toMatchObject({ status: 401, body: failure('REFRESH_TOKEN_REUSED') })
    expect(await post('/refresh', { refresh_token: body.refreshToken })).toMatchObject({
      status: 401,
      body: failure('REFRESH_TOKEN_INVALID'),
    })
    expect(await post('/refresh', { refresh_token: 'nonsense' })).toMatchObject({ status: 401, body: failure('REFRESH_TOKEN_INVALID') })
    expect((await post('/refresh', {})).status).toBe(400)
  })
})

describe('POST /logout', () => {
  test.each([undefined, {}, { refresh_token: 'unknown' }])('204 without a body for %j', async (body) => {
    const { token } = await loggedIn()
    expect(await post('/logout', body)).toMatchObject({ status: 204, body: {} })
    expect((await send('GET', '/sessions', undefined, token)).status).toBe(200)
  })

  test('204, and refresh and platform token are invalid', async () => {
    const { token, refreshToken } = await loggedIn()
    expect((await post('/logout', { refresh_token: refreshToken })).status).toBe(204)
    expect(await send('GET', '/sessions', undefined, token)).toMatchObject({ status: 401, body: failure('UNAUTHENTICATED') })
    expect((await post('/refresh', { refresh_token: refreshToken })).status).toBe(401)
  })
})

test('login, refresh and logout show the budget of their tenant; failures show none', async () => {
  const { refreshToken } = await loggedIn()
  expect(shown).toEqual(['ten_one'])
  const { body } = await post('/refresh', { refresh_token: refreshToken })
  expect(shown).toEqual(['ten_one', 'ten_one'])
  await post('/login', { ...right, password: 'wrong' })
  await post('/refresh', { refresh_token: 'nonsense' })
  await post('/logout', { refresh_token: 'nonsense' })
  expect(shown).toHaveLength(2)
  await post('/logout', { refresh_token: body.refreshToken })
  expect(shown).toHaveLength(3)
  await post('/logout', undefined, body.token as string)
  expect(shown).toEqual(['ten_one', 'ten_one', 'ten_one', 'ten_one'])
})

describe('POST /change-password', () => {
  const change = { currentPassword: aPassword, newPassword: 'kiwi-uhr' }

  test('204', async () => {
    const { token } = await loggedIn()
    expect(await post('/change-password', change, token)).toMatchObject({ status: 204, body: {} })
    expect(chat.users.get('anna')?.password).toBe('kiwi-uhr')
  })

  test('400 for a short new password, before the current one is checked', async () => {
    const { token } = await loggedIn()
    const looked = chat.looked.length
    const { status, body } = await post('/change-password', { ...change, newPassword: '1234567' }, token)
    expect([status, body]).toEqual([
      400,
      { ...failure('VALIDATION'), details: [{ path: 'newPassword', reason: 'must be at least 8 characters' }] },
    ])
    expect(chat.looked).toHaveLength(looked)
  })

  test('401 for a wrong current password, 429 after ten', async () => {
    const { token } = await loggedIn()
    for (let n = 0; n < 10; n++)
      expect(await post('/change-password', { ...change, currentPassword: 'wrong' }, token)).toMatchObject({
        status: 401,
        body: failure('WRONG_PASSWORD'),
      })
    expect(await post('/change-password', change, token)).toMatchObject({ status: 429, body: failure('ACCOUNT_LOCKED', true) })
  })

  test('401 INVALID_MATRIX_TOKEN with the chat token, 401 without any', async () => {
    const { matrixAccessToken } = await loggedIn()
    expect(await post('/change-password', change, matrixAccessToken)).toMatchObject({ status: 401, body: failure('INVALID_MATRIX_TOKEN') })
    expect(await post('/change-password', change)).toMatchObject({ status: 401, body: failure('UNAUTHENTICATED') })
  })
})

test('GET and DELETE /sessions: your own, and 404 for all others', async () => {
  const [here, there] = [await loggedIn(), await loggedIn()]
  const { body } = await send('GET', '/sessions', undefined, here.token)
  const sessions = body.sessions as { id: string; current: boolean }[]
  expect(sessions.map(({ current }) => current).sort()).toEqual([false, true])
  const other = sessions.find(({ current }) => !current)?.id
  expect((await send('DELETE', `/sessions/${other}`, undefined, here.token)).status).toBe(204)
  expect((await send('DELETE', `/sessions/${other}`, undefined, here.token)).status).toBe(404)
  expect((await send('GET', '/sessions', undefined, there.token)).status).toBe(401)
})
