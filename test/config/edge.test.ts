import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, request } from 'node:https'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { api } from '../../src/core/api.ts'
import { type EndpointShape, isSchema } from '../../src/core/contract/index.ts'
import { maxBodyBytes } from '../../src/core/module-services/index.ts'
import { checkNginx, raw, sendBytes } from '../support/nginx.ts'
import { aCertificate, aPlatformEdge, edgeFiles, filledIn } from '../support/platform-edge.ts'
import { aFolder } from '../support/running-daemon.ts'

let edge: Awaited<ReturnType<typeof aPlatformEdge>>
beforeAll(async () => {
  edge = await aPlatformEdge()
})
afterAll(() => edge?.close())
beforeEach(() => {
  edge.daemon.take()
})

let clients = 0
/** An address that no other test has used up. */
const aClient = () => {
  clients += 1
  return `198.51.${100 + (clients >> 8)}.${clients & 255}`
}

type Asked = NonNullable<Parameters<typeof raw>[2]>
const ask = (target: string, { from = aClient(), headers = {}, ...asked }: Asked & { from?: string } = {}) =>
  raw(edge.ports.secure, target, { secureAs: edge.serverName, headers: { 'x-test-client': from, ...headers }, ...asked })

const endpoints: EndpointShape[] = Object.values(api).flatMap((contract) => Object.values(contract))
const targetOf = ({ path }: EndpointShape) => path.replace(/:\w+/g, 'x')

test('what is handed out passes `nginx -t` once its placeholders are filled in, and not before', async () => {
  const folder = await aFolder('edge-check')
  const ours = { '/var/log/nginx': folder, 'listen 80 ': 'listen 127.0.0.1:8480 ', 'listen 443 ': 'listen 127.0.0.1:8443 ' }
  const withoutSix = { 'listen [::]:443 ': `listen unix:${folder}/a.sock `, 'listen [::]:80 ': `listen unix:${folder}/b.sock ` }
  const values = { ...ours, ...withoutSix, ...filledIn(await aCertificate(folder), 8440) }
  const checked = await checkNginx({ folder, files: await edgeFiles(folder, values) })
  expect(checked).toMatchObject({ good: true })
  expect(checked.says).not.toMatch(/\[(warn|error|emerg)\]/)
  for (const forgotten of ['{{serverName}}', '{{daemon}}', '{{certificate}}', '{{certificateKey}}']) {
    const rest = Object.fromEntries(Object.entries(values).filter(([name]) => name !== forgotten))
    expect(await checkNginx({ folder, files: await edgeFiles(folder, rest) })).toMatchObject({ good: false })
  }
})

test('a request to each endpoint gets through as it was sent, but for the metrics', async () => {
  const wrong: unknown[] = []
  for (const endpoint of endpoints) {
    const target = `${targetOf(endpoint)}?a=%2F..%2f`
    const { status } = await ask(target, { method: endpoint.method })
    const passed = edge.daemon.take().map((one) => [one.method, one.target])
    const expected = endpoint.path === '/metrics' ? [404, []] : [200, [[endpoint.method, target]]]
    if (JSON.stringify([status, passed]) !== JSON.stringify(expected)) wrong.push([endpoint.method, endpoint.path, status, passed])
  }
  expect(wrong).toEqual([])
})

test.each([
  '/metrics',
  '/metrics/',
  '/Metrics',
  '/%6detrics',
  '//metrics',
  '/./metrics',
  '/x/../metrics',
  '/metrics%2f',
  '/metrics#x',
  '/metrics?a',
  'https://platform.school.example/metrics',
])('%s tells outsiders nothing', async (target) => {
  const answer = await ask(target)
  expect(answer).toMatchObject({ status: 404, headers: { 'content-type': 'application/json' } })
  expect(JSON.parse(answer.text)).toMatchObject({ code: 'NOT_FOUND', retryable: false })
  expect(edge.daemon.take()).toEqual([])
})

test('who the client is says the edge: what clients say of that is overwritten or dropped', async () => {
  const lies = {
    'x-forwarded-for': '10.0.0.1, 10.0.0.2',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-port': '80',
    'x-forwarded-prefix': '/evil',
    'x-real-ip': '10.0.0.1',
    forwarded: 'for=10.0.0.1',
    x_forwarded_for: '10.0.0.3',
    connection: 'close, authorization',
  }
  for (const target of [
    '/api/platform/v1/events/stream',
    '/api/auth/v1/sessions',
    '/api/platform/v1/spaces/s/files',
    '/admin/rate-limits',
    '/console',
  ])
    await ask(target, {
      from: '203.0.113.7',
      headers: { authorization: 'Bearer x', 'last-event-id': '7', 'if-none-match': '"e"', ...lies },
    })
  const passed = edge.daemon.take()
  expect(passed).toHaveLength(5)
  for (const { headers } of passed) {
    expect(headers).toMatchObject({
      host: edge.serverName,
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-proto': 'https',
      authorization: 'Bearer x',
      'last-event-id': '7',
      'if-none-match': '"e"',
    })
    expect(Object.keys(headers).filter((name) => /^(forwarded|x-real-ip|x-forwarded-(host|port|prefix)|x_)/.test(name))).toEqual([])
  }
})

describe('how often an address may come', () => {
  type Answers = readonly Readonly<{ status: number }>[]
  const agent = new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false })
  afterAll(() => agent.destroy())

  /** Over connections that are kept: a handshake each would take longer than what is measured. */
  const quickly = (path: string, from = aClient(), method = 'GET') =>
    new Promise<Awaited<ReturnType<typeof ask>>>((resolve, reject) => {
      const headers = { 'x-test-client': from, host: edge.serverName }
      const asked = request(
        { agent, host: '127.0.0.1', port: edge.ports.secure, servername: edge.serverName, path, method, headers },
        (answer) => {
          let text = ''
          answer.setEncoding('utf8').on('data', (more) => {
            text += more
          })
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers as Record<string, string>, text }))
        },
      )
      asked.on('error', reject).end()
    })
  const count = (answers: Answers, status: number) => answers.filter((one) => one.status === status).length

  /** Everything at once: what got through, and the most that may have. */
  async function rush(calls: readonly (() => ReturnType<typeof quickly>)[], { atOnce, perSecond }: { atOnce: number; perSecond: number }) {
    const begun = performance.now()
    const answers = await Promise.all(calls.map((call) => call()))
    const seconds = (performance.now() - begun) / 1000
    return { good: count(answers, 200), refused: count(answers, 429), most: Math.ceil(atOnce + perSecond * seconds) + 1 }
  }
  const pace = { atOnce: 60, perSecond: 30 }

  test.each([
    ['the platform', '/api/platform/v1/bootstrap'],
    ['sessions', '/api/auth/v1/refresh'],
    ['what is public', '/api/public/x'],
    ['files', '/api/platform/v1/spaces/s/files'],
    ['the platform in capitals', '/API/Platform/v1/bootstrap'],
    ['the platform with encoded letters', '/%61pi/platform/v1/bootstrap'],
  ])('%s: 60 at once, then 30 a second, and the rest is told when to come again', async (_, target) => {
    const [from, begun, answers] = [aClient(), performance.now(), [] as Awaited<ReturnType<typeof ask>>[]]
    while (count(answers, 429) === 0 && answers.length < 2000)
      answers.push(...(await Promise.all(Array.from({ length: 90 }, () => quickly(target, from)))))
    const [good, refused] = [count(answers, 200), count(answers, 429)]
    expect(good).toBeGreaterThanOrEqual(60)
    expect(good).toBeLessThanOrEqual(Math.ceil(60 + 30 * ((performance.now() - begun) / 1000)) + 1)
    expect(good + refused).toBe(answers.length)
    const told = answers.find(({ status }) => status === 429) ?? expect.fail('this machine was too slow to be refused')
    expect(told.headers).toMatchObject({ 'retry-after': '1', 'content-type': 'application/json', 'cache-control': 'no-store' })
    expect(JSON.parse(told.text)).toEqual({ code: 'RATE_LIMITED', message: expect.any(String), retryable: true })
    expect(await ask(target)).toMatchObject({ status: 200 })
  })

  test('one address has one limit for all of these paths together', async () => {
    const from = aClient()
    const targets = ['/api/platform/v1/bootstrap', '/api/auth/v1/refresh', '/api/public/x', '/api/auth/v1/login']
    const calls = Array.from({ length: 120 }, (_, at) => () => quickly(targets[at % targets.length] as string, from))
    const { good, refused, most } = await rush(calls, pace)
    expect(good).toBeLessThanOrEqual(most)
    expect(good + refused).toBe(120)
  })

  test.each([
    ['a /64 is one client', (at: number) => `2001:db8:1:2::${at.toString(16)}`, true],
    ['any part of the last half of it may differ', (at: number) => `2001:db8:1:3:${at.toString(16)}:1:a0a:a0a`, true],
    ['a line end among its bytes makes no difference', (at: number) => `2001:a0a:a0a:a0a::${at.toString(16)}`, true],
    ['networks of IPv6 are told apart', (at: number) => `2001:db8:2:${at.toString(16)}::1`, false],
    ['addresses of IPv4 are told apart', (at: number) => `192.0.2.${at}`, false],
    ['also when they are spelt as IPv6', (at: number) => `::ffff:192.0.3.${at}`, false],
  ])('%s', async (_, address, isOne) => {
    const calls = Array.from({ length: 120 }, (_, at) => () => quickly('/api/platform/v1/bootstrap', address(at)))
    const { good, refused, most } = await rush(calls, pace)
    if (isOne) expect(good).toBeLessThanOrEqual(most)
    else expect(refused).toBe(0)
  })

  test('operators, agents and pages are not held up', async () => {
    const from = aClient()
    const targets = [
      '/admin/rate-limits',
      '/api/admin/v1/tenants',
      '/api/agent/v1/heartbeat',
      '/docs',
      '/healthz',
      '/admin/tenant-boxes/rollouts/x/events',
    ]
    const { refused } = await rush(
      Array.from({ length: 120 }, (_, at) => () => quickly(targets[at % targets.length] as string, from)),
      pace,
    )
    expect(refused).toBe(0)
  })

  test('logins: 5 at once, 25 wait for their turn at 5 a second, the rest is refused, however the path is written', async () => {
    const targets = [
      '/api/auth/v1/login',
      '/api/auth/v1/login/',
      '/API/auth/V1/Login',
      '/api/auth/v1/%6cogin',
      '/api//auth/./v1/login?a=b',
      '/api/x/../auth/v1/login',
      '/api/auth/v1/school/login',
    ]
    const logins = async (target: string) => {
      const from = aClient()
      const begun = performance.now()
      const calls = Array.from({ length: 45 }, () => async () => {
        const answer = await ask(target, { from, method: 'POST', body: '{}' })
        return { ...answer, atMs: performance.now() - begun }
      })
      return Promise.all(calls.map((call) => call()))
    }
    for (const answers of await Promise.all(targets.map(logins))) {
      const good = answers.filter(({ status }) => status === 200).map(({ atMs }) => atMs)
      expect(good.length).toBeGreaterThanOrEqual(30)
      expect(good.length + count(answers, 429)).toBe(45)
      good.sort((a, b) => a - b).forEach((atMs, at) => void expect(at + 1).toBeLessThanOrEqual(Math.ceil(5 + (5 * atMs) / 1000) + 1))
    }
  })

  test('a preflight of a login waits for nobody', async () => {
    const from = aClient()
    const begun = performance.now()
    const answers = await Promise.all(Array.from({ length: 40 }, () => quickly('/api/auth/v1/login', from, 'OPTIONS')))
    expect(count(answers, 200)).toBe(40)
    // In turn, those after the fifth would take seven seconds, and the last of them be refused.
    expect(performance.now() - begun).toBeLessThan(6000)
  })
})

describe('event streams', () => {
  const streams = endpoints.filter(({ returns }) => !isSchema(returns) && returns.kind === 'sse').map(targetOf)

  const accept = { accept: 'text/event-stream' }

  test('of one address: 200 at once get through, at 100 a second, since a whole school may have one address', async () => {
    const [from, begun] = [aClient(), performance.now()]
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask('/api/platform/v1/events/stream', { from, headers: accept })))
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    expect(performance.now() - begun).toBeGreaterThan(1900)
    expect(edge.daemon.take()).toHaveLength(200)
  })

  test.each(streams)('%s without a daemon: an EventSource is told when to come again, others get a refusal', async (target) => {
    const { daemon } = edge
    await daemon.close()
    const later = await ask(target, { headers: accept })
    expect(later).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/event-stream', 'retry-after': '5', 'cache-control': 'no-store' },
    })
    expect(later.text).toBe('retry: 5000\n: UNAVAILABLE\n\n')
    const refused = await ask(target)
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '5', 'content-type': 'application/json' } })
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'UNAVAILABLE', retryable: true })
    await new Promise<void>((ready) => void daemon.server.listen(daemon.port, '127.0.0.1', ready))
  })

  test('are on all three paths of clients', () => {
    expect(streams).toEqual(
      expect.arrayContaining([
        '/api/platform/v1/events/stream',
        '/api/platform/v1/workflow/events/stream',
        '/platform/v1/workflow/events/stream',
      ]),
    )
  })

  test.each(streams)('%s: each message arrives before the next is sent, and a client that leaves is told of', async (target) => {
    const { server } = edge.daemon
    const usual = server.listeners('request') as ((...given: [IncomingMessage, ServerResponse]) => void)[]
    server.removeAllListeners('request')
    const opened = once(server, 'request') as Promise<[IncomingMessage, ServerResponse]>
    const heard: string[] = []
    const said = (text: string) => expect.poll(() => heard.at(-1) ?? '', { interval: 5 }).toContain(text)
    const ask = `GET ${target} HTTP/1.1\r\nhost: ${edge.serverName}\r\nconnection: close\r\nx-test-client: ${aClient()}\r\n\r\n`
    const answered = sendBytes(edge.ports.secure, ask, { secureAs: edge.serverName, heard: (text) => void heard.push(text) })
    const [, response] = await opened
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const message of [': open', 'id: 1', 'id: 2']) {
      response.write(`${message}\n\n`)
      await said(message)
    }
    response.end()
    expect(await answered).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream' } })
    for (const listener of usual) server.on('request', listener)
  })
})

describe('bodies', () => {
  const of = (bytes: number) => 'x'.repeat(bytes)
  test.each([
    ['/api/auth/v1/login', 60_000, 70_000],
    ['/api/auth/v1/school/login', 60_000, 70_000],
    ['/api/platform/v1/tasks', 900_000, 1_100_000],
    ['/api/auth/v1/refresh', 900_000, 1_100_000],
    ['/api/agent/v1/reports', 1_100_000, 13_000_000],
    ['/api/admin/v1/tenants/x/user-imports', 11_900_000, 13_000_000],
    ['/api/platform/v1/cascade-boards/x', 11_900_000, 13_000_000],
    ['/api/platform/v1/module-api/x/rest', 11_900_000, 13_000_000],
    ['/api/platform/v1/store/developer/upload', 13_000_000, undefined],
    ['/api/platform/v1/spaces/x/files', 13_000_000, undefined],
  ])('%s takes %i bytes, not %s', async (target, fits, tooMuch = 60_000_000) => {
    expect(await ask(target, { method: 'POST', body: of(fits) })).toMatchObject({ status: 200 })
    edge.daemon.take()
    const refused = await ask(target, { method: 'POST', headers: { 'content-length': String(tooMuch) } })
    expect(refused).toMatchObject({ status: 413, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', retryable: false })
    expect(edge.daemon.take()).toEqual([])
  })

  const limitOf = ({ bodyLimit, multipart, returns }: EndpointShape) =>
    multipart?.maxBytes ?? bodyLimit ?? (!isSchema(returns) && returns.kind === 'raw' ? maxBodyBytes : 0)
  const large = endpoints.filter((one) => limitOf(one) > 900_000 && one.path !== '/metrics')
  /** What is said of a body before it is sent. */
  const announce = (path: string, method: string, bytes: number) =>
    new Promise<number>((resolve, reject) => {
      const headers = { 'x-test-client': aClient(), host: edge.serverName, 'content-length': bytes, expect: '100-continue' }
      const at = { host: '127.0.0.1', port: edge.ports.secure, servername: edge.serverName, rejectUnauthorized: false }
      const asked = request({ ...at, path, method, headers }, ({ statusCode = 0 }) => end(statusCode))
      const end = (status: number) => {
        resolve(status)
        asked.destroy()
      }
      asked.on('continue', () => end(100)).on('error', reject)
      asked.flushHeaders()
    })
  test.each(large.map((one) => [`${one.method} ${one.path}`, one] as const))('%s takes what the daemon takes', async (_, one) => {
    expect(await announce(targetOf(one), one.method === 'GET' ? 'POST' : one.method, limitOf(one))).toBe(100)
  })
})

describe('TLS', () => {
  test('another name, or none, gets no answer', async () => {
    for (const secureAs of ['other.example', '']) await expect(raw(edge.ports.secure, '/', { secureAs })).rejects.toThrow()
    expect(edge.daemon.take()).toEqual([])
  })

  test.each([
    ['in its header', '/', { host: 'other.example' }],
    ['in its path', 'https://other.example/api/admin/v1/tenants', {}],
  ])('neither does a request that names another server %s', async (_, target, headers) => {
    expect(await ask(target, { headers })).toMatchObject({ status: 421 })
    expect(edge.daemon.take()).toEqual([])
  })

  test('what comes without it is sent to where it is, by the name of the platform', async () => {
    const answer = await raw(edge.ports.plain, '/docs?a=b', { headers: { host: 'evil.example' } })
    expect(answer).toMatchObject({ status: 301, headers: { location: `https://${edge.serverName}/docs?a=b` } })
    expect(edge.daemon.take()).toEqual([])
  })
})

test('without a daemon the answer is one that clients understand', async () => {
  const { daemon } = edge
  await daemon.close()
  const answer = await ask('/api/platform/v1/bootstrap')
  expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5', 'content-type': 'application/json' } })
  expect(JSON.parse(answer.text)).toMatchObject({ code: 'UNAVAILABLE', retryable: true })
  await new Promise<void>((ready) => void daemon.server.listen(daemon.port, '127.0.0.1', ready))
})
