import { rm, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { softLogoutFile, softLogoutRules } from '../../src/agent/boxes/index.ts'
import { aBoxEdge } from '../support/box-edge.ts'
import { raw, sendBytes } from '../support/nginx.ts'

let edge: Awaited<ReturnType<typeof aBoxEdge>>
beforeAll(async () => {
  edge = await aBoxEdge()
})
afterAll(() => edge?.close())

const passed = () => [...edge.synapse.take(), ...edge.platformSynapse.take(), ...edge.minio.take()]
const atPublic = (target: string, asked?: Parameters<typeof raw>[2]) => raw(edge.ports.public, target, asked)
beforeEach(() => {
  passed()
})

const prefixes = ['api/v1', 'r0', 'v1', 'v3', 'unstable']
const families = ['login', 'register', 'refresh', 'account/password', 'account/deactivate']
const blocked = prefixes.flatMap((prefix) => families.map((family) => [prefix, family] as const))

const toAll = (write: (path: string) => string, asked: Parameters<typeof raw>[2]) =>
  Promise.all(
    blocked.map(async ([prefix, family]) => {
      const target = write(`/_matrix/client/${prefix}/${family}`)
      return { target, answer: await atPublic(target, asked) }
    }),
  )

const hex = (letter: string) => letter.charCodeAt(0).toString(16)
const encoded = (text: string) => [...text].map((letter) => `%${hex(letter)}`).join('')
const last = (path: string, change: (word: string) => string) => path.replace(/[^/]+$/, change)

const ways: readonly (readonly [string, (path: string) => string])[] = [
  ['as it is', (path) => path],
  ['with a slash at the end', (path) => `${path}/`],
  ['with slashes at the end', (path) => `${path}///`],
  ['with an encoded slash at the end', (path) => `${path}%2f`],
  ['with a dot at the end', (path) => `${path}/.`],
  ['with a query', (path) => `${path}?access_token=x`],
  ['with an empty query', (path) => `${path}?`],
  ['with an encoded question mark', (path) => `${path}%3fa=b`],
  ['with a way round in the query', (path) => `${path}?/../../sync`],
  ['with a fragment', (path) => `${path}#x`],
  ['with an encoded fragment', (path) => `${path}%23x`],
  ['with something below it', (path) => `${path}/email/requestToken`],
  ['with two slashes at the front', (path) => `/${path}`],
  ['with two slashes everywhere', (path) => path.replaceAll('/', '//')],
  ['with encoded slashes', (path) => `/${path.slice(1).replaceAll('/', '%2F')}`],
  ['with an encoded slash and a slash', (path) => path.replaceAll('/client/', '%2f/client/%2f')],
  ['with a dot', (path) => path.replaceAll('/', '/./')],
  ['with an encoded dot', (path) => path.replace('/client/', '/%2e/client/')],
  ['with a way round', (path) => path.replace('/client/', '/x/../client/')],
  ['with an encoded way round', (path) => path.replace('/client/', '/x/%2e%2E/client/')],
  ['with an encoded way round and slash', (path) => path.replace('/client/', '/x%2f..%2fclient/')],
  ['coming from another path', (path) => `/.well-known/matrix/../..${path}`],
  ['coming from media', (path) => path.replace('/_matrix/', '/_matrix/media/v3/upload/../../../')],
  ['with one encoded letter', (path) => path.replace(/.$/, encoded)],
  ['with an encoded first letter', (path) => last(path, (word) => `${encoded(word[0] as string)}${word.slice(1)}`)],
  ['with every letter encoded', (path) => path.split('/').map(encoded).join('/')],
  ['with encoded capitals', (path) => last(path, (word) => encoded(word.toUpperCase()))],
  ['with the prefix encoded', (path) => path.replace('_matrix', '%5Fmatri%78')],
  ['with a letter encoded twice', (path) => last(path, (word) => `%25${hex(word[0] as string)}${word.slice(1)}`)],
  ['with a letter encoded three times', (path) => last(path, (word) => `%2525${hex(word[0] as string)}${word.slice(1)}`)],
  ['with the client encoded twice', (path) => path.replace('client', '%2563lient')],
  ['with slashes encoded twice', (path) => path.replace('/client/', '/client%252f')],
  ['in capitals', (path) => last(path, (word) => word.toUpperCase())],
  ['all in capitals', (path) => path.toUpperCase()],
  ['with a matrix parameter', (path) => `${path};a=b`],
  ['with an empty matrix parameter', (path) => `${path};`],
  ['with an encoded matrix parameter', (path) => `${path}%3ba=b`],
  ['with matrix parameters everywhere', (path) => path.replaceAll(/([^/]+)/g, '$1;a=b')],
  ['with a matrix parameter and a slash', (path) => `${path};a=b/`],
  ['with a space at the end', (path) => `${path}%20`],
  ['with a tab at the end', (path) => `${path}%09`],
  ['with a line end at the end', (path) => `${path}%0a`],
  ['with a return at the end', (path) => `${path}%0d`],
  ['with a backslash at the end', (path) => `${path}%5c`],
  ['with a suffix', (path) => `${path}.json`],
  ['with a host in front', (path) => `http://elsewhere.example${path}`],
  ['with a host and a port in front', (path) => `https://elsewhere.example:8448${path}`],
]

describe.each(ways)('accounts are out of reach of the public when they are written %s', (_, write) => {
  test.each(['GET', 'POST', 'BREW'])('%s', async (method) => {
    for (const { target, answer } of await toAll(write, { method, body: method === 'GET' ? '' : '{}' })) {
      expect({ target, status: answer.status, cors: answer.headers['access-control-allow-origin'] }).toEqual({
        target,
        status: 403,
        cors: '*',
      })
      expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' })
      expect(JSON.parse(answer.text)).toMatchObject({ errcode: 'M_FORBIDDEN', error: expect.any(String) })
    }
    expect(passed()).toEqual([])
  })

  test('a preflight lets a browser read the refusal', async () => {
    for (const { answer } of await toAll(write, { method: 'OPTIONS', headers: { origin: 'https://app.example' } })) {
      expect(answer).toMatchObject({ status: 204, text: '' })
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': expect.stringContaining('POST'),
        'access-control-allow-headers': expect.stringContaining('Authorization'),
      })
    }
    expect(passed()).toEqual([])
  })
})

test.each([
  '/_matrix/client/v3/login/sso/redirect',
  '/_matrix/client/v1/login/get_token',
  '/_matrix/client/unstable/org.matrix.msc3882/login/token',
  '/_matrix/client/unstable/org.matrix.msc2918.refresh_token/refresh',
  '/_matrix/client/v3/register/available?username=a',
  '/_matrix/client/v1/register/m.login.registration_token/validity',
  '/_matrix/client/v3/register/email/requestToken',
  '/_matrix/client/v4/login',
  '/_matrix/client/v12/refresh',
])('%s is blocked like what it belongs to', async (target) => {
  expect(await atPublic(target)).toMatchObject({ status: 403 })
  expect(passed()).toEqual([])
})

test.each([
  ['NUL', '/_matrix/client/v3/login%00'],
  ['a way above the root', '/_matrix/../../_matrix/client/v3/login'],
  ['half an encoding', '/_matrix/client/v3/logi%6'],
  ['a raw control character', '/_matrix/client/v3/login\u0001'],
  ['a raw space', '/_matrix/client/v3/login x'],
])('%s in a path is refused as such', async (_, target) => {
  expect((await atPublic(target, { method: 'POST' })).status).toBe(400)
  expect(passed()).toEqual([])
})

test.each([
  ['HTTP/1.0 without a host', 'POST /_matrix/client/v3/login HTTP/1.0\r\n\r\n'],
  [
    'two requests on one connection',
    'GET /_matrix/client/r0/login HTTP/1.1\r\nhost: a\r\n\r\nPOST /_matrix/client/v3/login HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n',
  ],
  [
    'a body in chunks',
    'POST /_matrix/client/v3/login HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  ],
  ['a line end of one character', 'POST /_matrix/client/v3/login HTTP/1.1\nhost: a\nconnection: close\n\n'],
  [
    'another method in a header',
    'GET /_matrix/client/v3/login HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-http-method-override: POST\r\n\r\n',
  ],
  [
    'another path in a header',
    'POST /_matrix/client/v3/login HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-original-url: /_matrix/client/v3/sync\r\n\r\n',
  ],
])('%s does not get around the block', async (_, bytes) => {
  expect((await sendBytes(edge.ports.public, bytes)).status).toBe(403)
  expect(passed()).toEqual([])
})

/** What Synapse would take for one of them: it matches the raw path up to the query, and that only. */
const forSynapse = /^\/_matrix\/client\/(api\/v1|r0|v\d+|unstable(\/[^/]+)?)\/(login|register|refresh|account\/(password|deactivate))(\/|$)/

test('however a path is put together, nothing comes through that Synapse or a server that decodes and tidies would take for a login', async () => {
  const noise = fc.constantFrom(
    '',
    '',
    '',
    '/',
    '/.',
    '//',
    '/x/..',
    '%2f',
    '%2F.',
    '/%2e',
    ';a=b',
    '%3b',
    '/%252e',
    '%25',
    '%00',
    '\\',
    '%5c',
    '+',
    '%20',
  )
  const spelt = (word: string) =>
    fc
      .array(fc.integer({ min: 0, max: 6 }), { minLength: word.length, maxLength: word.length })
      .map((how) =>
        [...word].map((letter, at) => (how[at] === 0 ? `%${hex(letter)}` : how[at] === 1 ? letter.toUpperCase() : letter)).join(''),
      )
  const segment = (word: string) => fc.tuple(noise, spelt(word)).map(([before, text]) => `${before}/${text}`)
  const target = fc
    .constantFrom(...blocked)
    .chain(([prefix, family]) => fc.tuple(...['_matrix', 'client', ...prefix.split('/'), ...family.split('/')].map(segment), noise))
    .map((parts) => parts.join(''))
  await fc.assert(
    fc.asyncProperty(target, async (target) => {
      const { status } = await atPublic(target, { method: 'POST' })
      for (const one of passed()) {
        const path = one.target.split('?')[0] as string
        expect({ status, path, isLogin: forSynapse.test(path) || forSynapse.test(tidied(path)) }).toMatchObject({ isLogin: false })
      }
    }),
    { numRuns: 400 },
  )
})

const tidied = (path: string): string => {
  const decoded = path.replace(/%([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
  return new URL(decoded.replaceAll(/\/+/g, '/'), 'http://a').pathname.toLowerCase()
}

test.each([
  '/_synapse/admin/v1/register',
  '/_synapse/admin/v2/users/@a:b',
  '/_synapse/admin/v1/server_version',
  '/_synapse/client/pick_username/account_details',
  '/_synapse',
  '/_Synapse/admin',
  '/%5fsynapse/admin/v1/server_version',
  '/_synapse%2fadmin/v1/server_version',
  '/%5f%73ynapse%2Fadmin',
  '//_synapse/admin',
  '/./_synapse/admin',
  '/_matrix/../_synapse/admin/v1/register',
  '/_matrix/%2e%2e/_synapse/admin/v1/register',
  '/_matrix%2f..%2f_synapse/admin/v1/register',
  '/_matrix/client/v3/sync/../../../../_synapse/admin/v1/register',
  '/_matrix/..;/_synapse/admin',
  '/_synapse;a=b/admin',
  'http://127.0.0.1/_synapse/admin/v1/register',
  '/health',
  '/metrics',
  '/minio/health/live',
  '/.well-known/matrix/server',
  '/.well-known/matrix/client/',
  '/',
])('the public gets nothing of %s', async (target) => {
  for (const method of ['GET', 'POST']) {
    const answer = await atPublic(target, { method, headers: { 'x-tenantry-edge-secret': edge.secrets.edgeSecret } })
    const came = passed()
    // What lies below /_matrix is Synapse's to refuse, as long as nobody takes it for another folder.
    if (target.includes('..;')) expect(came.map((one) => one.target)).toEqual([target])
    else
      expect({ came, status: answer.status, cors: answer.headers['access-control-allow-origin'] }).toEqual({
        came: [],
        status: 404,
        cors: '*',
      })
  }
})

test('what clients need comes through as it was sent, without the secret and with the address of who asks', async () => {
  const targets = [
    '/_matrix/client/versions',
    '/_matrix/client/v3/sync?since=s1&timeout=30000',
    '/_matrix/client/v3/rooms/!a%3Achat.rose.example/send/m.room.message/1%2F2',
    '/_matrix/client/v3/rooms/!100%25:b/state/com.example;a/%2525',
    '/_matrix/client/v3/directory/room/%23login:chat.rose.example',
    '/_matrix/client/v3/profile/@login:chat.rose.example',
    '/_matrix/client/v3/profile/%40100%25:chat.rose.example/displayname',
    '/_matrix/client/v3/logout',
    '/_matrix/client/v3/account/whoami',
    '/_matrix/client/v3/account/3pid',
    '/_matrix/client/r0/password_policy',
    '/_matrix/client/v3/pushers/set',
    '/_matrix/client/v3/user/@a:b/account_data/login',
    '/_matrix/client/unstable/org.matrix.msc3814.v1/dehydrated_device',
    '/_matrix/client/v1/media/download/chat.rose.example/login',
    '/_matrix/media/v3/upload?filename=login',
    '/_matrix/client/v3/keys/upload',
    '/_matrix/client/v3/login_types',
  ]
  const headers = { 'x-tenantry-edge-secret': 'guess', 'x-forwarded-for': '203.0.113.9', authorization: 'Bearer x' }
  for (const target of targets) {
    expect(await atPublic(target, { headers })).toMatchObject({ status: 200, text: '{"from":"upstream"}' })
    const [one] = edge.synapse.take()
    expect(one).toMatchObject({ target, headers: { 'x-forwarded-for': '203.0.113.9', authorization: 'Bearer x', host: 'edge.test' } })
    expect(one?.headers).not.toHaveProperty('x-tenantry-edge-secret')
  }
  expect(passed()).toEqual([])
})

test('an upload that is too large is refused in words that an app in a browser can read', async () => {
  const headers = { 'content-length': String(edge.facts.maxUploadMegabytes * 1024 * 1024 + 1) }
  const answer = await atPublic('/_matrix/media/v3/upload', { method: 'POST', headers })
  expect(answer).toMatchObject({ status: 413, headers: { 'access-control-allow-origin': '*' } })
  expect(JSON.parse(answer.text)).toMatchObject({ errcode: 'M_TOO_LARGE' })
  expect(passed()).toEqual([])
})

describe('.well-known/matrix/client', () => {
  test.each([
    '/.well-known/matrix/client',
    '/.well-known/matrix/client?a=b',
    '/.well-known//matrix/./client',
    '/%2ewell-known/matrix/client',
  ])('%s names the address of this box', async (target) => {
    const answer = await atPublic(target)
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json', 'access-control-allow-origin': '*' } })
    expect(JSON.parse(answer.text)).toEqual({ 'm.homeserver': { base_url: edge.facts.publicUrl } })
    expect(await atPublic(target, { method: 'OPTIONS' })).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': '*' } })
    expect(passed()).toEqual([])
  })
})

describe('the listeners of platform and probe', () => {
  const paths = ['/_matrix/client/v3/login', '/_synapse/admin/v1/register', '/health']
  const wrong = (): Record<string, string>[] => {
    const { edgeSecret } = edge.secrets
    const guesses = [edgeSecret.toUpperCase(), edgeSecret.slice(1), `${edgeSecret}, ${edgeSecret}`, '']
    return [{}, { x_tenantry_edge_secret: edgeSecret }, ...guesses.map((guess) => ({ 'x-tenantry-edge-secret': guess }))]
  }

  test.each(paths)('%s is served to who has the secret, and the secret goes no further', async (target) => {
    for (const port of [edge.ports.platform, edge.ports.probe]) {
      const answer = await raw(port, target, { method: 'POST', headers: { 'x-tenantry-edge-secret': edge.secrets.edgeSecret } })
      expect(answer.status).toBe(200)
      const [one, ...more] = edge.platformSynapse.take()
      expect([one?.target, more]).toEqual([target, []])
      expect(one?.headers).not.toHaveProperty('x-tenantry-edge-secret')
    }
    expect(passed()).toEqual([])
  })

  test.each([...paths, '/minio/health/live', '/'])('%s is 404 to everybody else', async (target) => {
    for (const port of [edge.ports.platform, edge.ports.probe])
      for (const headers of wrong()) expect((await raw(port, target, { headers })).status).toBe(404)
    expect(passed()).toEqual([])
  })
})

test('behind a fence nothing comes through, for the probe alone everything', async () => {
  const headers = { 'x-tenantry-edge-secret': edge.secrets.edgeSecret }
  await writeFile(edge.fence, '')
  for (const target of ['/_matrix/client/v3/sync', '/_matrix/client/v3/login', '/.well-known/matrix/client'])
    for (const port of [edge.ports.public, edge.ports.platform])
      expect(await raw(port, target, { headers })).toMatchObject({
        status: 503,
        headers: { 'retry-after': '10', 'access-control-allow-origin': '*' },
      })
  expect(passed()).toEqual([])
  expect((await raw(edge.ports.probe, '/_matrix/client/v3/login', { headers })).status).toBe(200)
  await rm(edge.fence)
  expect((await atPublic('/_matrix/client/v3/sync')).status).toBe(200)
})

describe('after a restore', () => {
  const unknown = '{"errcode":"M_UNKNOWN_TOKEN","error":"Invalid access token passed.","soft_logout":false}'
  let restored: Awaited<ReturnType<typeof aBoxEdge>>
  beforeAll(async () => {
    restored = await aBoxEdge({ [softLogoutFile]: softLogoutRules('2027-02-26T00:00:00.000Z') })
  })
  afterAll(() => restored?.close())
  const answerOf = async ({ ports, synapse }: typeof edge, status: number, text: string, isPacked = false) => {
    synapse.answerWith(status, text, isPacked)
    const answer = await fetch(`http://127.0.0.1:${ports.public}/_matrix/client/v3/sync?timeout=0`)
    synapse.answerWith()
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
  }

  test('an unknown token is a soft logout, so that apps keep their keys; without a restore it stays a final one', async () => {
    expect(JSON.parse((await answerOf(edge, 401, unknown)).text)).toMatchObject({ errcode: 'M_UNKNOWN_TOKEN', soft_logout: false })
    const answer = await answerOf(restored, 401, unknown)
    expect(answer).toMatchObject({ status: 401, type: 'application/json' })
    expect(JSON.parse(answer.text)).toEqual({ ...JSON.parse(unknown), soft_logout: true })
  })

  test('also where Synapse compresses its answers', async () => {
    const { text } = await answerOf(restored, 401, unknown, true)
    expect(JSON.parse(text)).toEqual({ ...JSON.parse(unknown), soft_logout: true })
    expect((await answerOf(restored, 200, unknown, true)).text).toBe(unknown)
  })

  test('nothing else is changed: not the same text in a message, not another 401', async () => {
    expect((await answerOf(restored, 200, unknown)).text).toBe(unknown)
    const flows = '{"flows":[{"stages":["m.login.password"]}],"params":{},"session":"x"}'
    expect(await answerOf(restored, 401, flows)).toMatchObject({ status: 401, text: flows })
  })
})

describe('a request that was under way when Synapse stopped', () => {
  const lost = (port: number, happens: () => Promise<void>, method = 'GET') => {
    const synapse = port === edge.ports.public ? edge.synapse : edge.platformSynapse
    synapse.cutNext(happens)
    return raw(port, '/_matrix/client/v3/sync?timeout=30000', { method, headers: { 'x-tenantry-edge-secret': edge.secrets.edgeSecret } })
  }
  const nothing = async () => {}
  const fence = () => writeFile(edge.fence, '')
  const down = { status: 502, headers: { 'retry-after': '5', 'access-control-allow-origin': '*', 'content-type': 'application/json' } }
  const fenced = { status: 503, headers: { 'retry-after': '10', 'access-control-allow-origin': '*', 'content-type': 'application/json' } }
  afterEach(() => rm(edge.fence, { force: true }))

  test('is told of the update once a fence stands, of which it knew nothing when it began', async () => {
    for (const port of [edge.ports.public, edge.ports.platform]) {
      const answer = await lost(port, fence)
      expect(answer).toMatchObject(fenced)
      expect(JSON.parse(answer.text)).toMatchObject({ errcode: 'M_UNKNOWN', retry_after_ms: 10_000 })
      await rm(edge.fence)
    }
  })

  test('is told so whatever it was; a preflight is no failure of its page', async () => {
    for (const [method, answer] of [
      ['HEAD', { ...fenced, text: '' }],
      ['POST', fenced],
      ['OPTIONS', { status: 204, headers: { 'access-control-allow-origin': '*' } }],
    ] as const) {
      expect(await lost(edge.ports.public, fence, method)).toMatchObject(answer)
      await rm(edge.fence)
    }
  })

  test('is told that nobody answers where no fence stands, and the probe even behind one', async () => {
    for (const port of [edge.ports.public, edge.ports.platform]) {
      const answer = await lost(port, nothing)
      expect(answer).toMatchObject(down)
      expect(JSON.parse(answer.text)).toMatchObject({ errcode: 'M_UNKNOWN', retry_after_ms: 5000 })
      expect(await lost(port, nothing, 'OPTIONS')).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': '*' } })
    }
    expect(await lost(edge.ports.probe, fence)).toMatchObject(down)
  })
})
