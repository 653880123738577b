import { describe, expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { bodyFraming, forwardedHeaders, isRedirect, servicePath, UpstreamUrl } from '../../../src/core/module-services/index.ts'
import { answerHeaders } from '../../../src/core/modules/index.ts'

describe('the path at the service', () => {
  test.each([...['', '/', '/lessons/42', '/lessons/', '/a..b/...', '/caf%C3%A9']])('%s is sent as it is', (rest) =>
    expect(servicePath(rest)).toBe(rest),
  )

  test.each([
    ...['/..', '/../admin', '/a/../../b', '/%2e%2e/b', '/.%2E/b', '/./b', '/..;/b', '/a%2fb', '/a%2Fb', '/a%5cb', '/a\\b'],
    ...['//', '//evil.example/a', '/a//b', '/a%00', '/a%0d%0aHost:%20x'],
  ])('%s is refused', (rest) => {
    try {
      servicePath(rest)
    } catch (error) {
      return expect(isProblem(error, 'VALIDATION')).toBe(true)
    }
    throw new Error('was not refused')
  })
})

describe('request headers', () => {
  const ours = { authorization: 'Bearer ours', host: 'attendance.example' }
  const harmless = {
    ...{
      accept: 'application/json',
      'content-type': 'application/json',
      'if-none-match': '"a"',
      'x-mine': ['1', '2'],
    },
  }

  test('credentials, addresses and what belongs to the connection do not reach the service', () => {
    const given = {
      ...{ authorization: 'Bearer platform', cookie: 'a=b', host: 'school.example', connection: 'keep-alive, X-Secret', 'x-secret': '1' },
      ...{ 'x-forwarded-for': '10.0.0.1', 'x-forwarded-host': 'x', forwarded: 'for=x', te: 'trailers', trailer: 'x', upgrade: 'h2c' },
      ...{ 'content-length': '2', 'transfer-encoding': 'chunked' },
      ...{
        'proxy-authorization': 'Basic x',
        'x-real-ip': '10.0.0.1',
        expect: '100-continue',
        'x-developer-id': 'dev_1',
        origin: 'https://x',
      },
      ...{ 'sec-fetch-site': 'same-origin', 'x-tenantry-tenant': 'other', 'accept-encoding': 'gzip', referer: 'https://x/secret' },
      ...{ x_forwarded_for: '10.0.0.1', x_http_method_override: 'DELETE', 'x-client-ip': '10.0.0.1', 'x-original-url': '/admin' },
    }
    expect(forwardedHeaders({ ...given, ...harmless }, ours)).toEqual({ ...harmless, 'accept-encoding': 'identity', ...ours })
  })

  test('a caller cannot drop the token by naming it in Connection', () =>
    expect(forwardedHeaders({ connection: 'close, authorization' }, ours)).toMatchObject(ours))
})

describe('the framing of a request', () => {
  test.each([
    ['GET', {}, {}],
    ['HEAD', { 'content-length': '0' }, {}],
    ['POST', {}, { 'content-length': '0' }],
    ['DELETE', { 'content-length': '007' }, { 'content-length': '7' }],
    ['DELETE', { 'transfer-encoding': 'chunked' }, { 'transfer-encoding': 'chunked' }],
    ['PUT', { 'transfer-encoding': 'chunked', connection: 'transfer-encoding' }, { 'transfer-encoding': 'chunked' }],
  ])('%s with %o is sent on with %o', (method, incoming, sent) => expect(bodyFraming(method, incoming)).toEqual(sent))

  test.each(['GET', 'HEAD'])('%s has no body', (method) => {
    for (const incoming of [{ 'content-length': '1' }, { 'transfer-encoding': 'chunked' }])
      expect(() => bodyFraming(method, incoming)).toThrow('has no body')
  })
})

describe('answer headers', () => {
  const always = {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
  }

  test('only type, length, tag, cache and x-module headers pass', () => {
    const passed = {
      ...{ 'content-type': 'application/json', etag: '"a"', 'cache-control': 'no-store', 'x-module-page': '2' },
    }
    const given = {
      ...{
        'set-cookie': ['a=b'],
        location: 'https://x',
        'access-control-allow-origin': '*',
        'content-security-policy': 'none',
        link: '<x>',
      },
      ...{ 'content-length': '2', 'transfer-encoding': 'chunked' },
      ...{
        'x-content-type-options': 'x',
        'clear-site-data': '"*"',
        'strict-transport-security': 'max-age=0',
        refresh: '0',
        'x-module-': 'x',
      },
    }
    expect(answerHeaders({ ...given, ...passed })).toEqual({ ...passed, ...always })
  })

  test.each([
    ['public, max-age=60', 'private, max-age=60'],
    ['Public, S-MaxAge=60, Max-Age=60, immutable', 'private, max-age=60, immutable'],
    ['no-cache="set-cookie", max-age=5', 'private, max-age=5'],
    ['public', 'no-store'],
    ['max-age=60, no-store', 'no-store'],
    ['private, no-cache', 'private, no-cache'],
  ])('cache-control: %s becomes %s', (given, sent) => expect(answerHeaders({ 'cache-control': given })['cache-control']).toBe(sent))

  test.each(['application/json; charset=utf-8', 'text/plain', 'TEXT/CSV', 'image/png'])('%s is shown', (type) =>
    expect(answerHeaders({ 'content-type': type })).toEqual({ 'content-type': type, ...always }),
  )
  test.each([
    'text/html',
    'image/svg+xml',
    'application/pdf',
    'text/xml',
    'application/xhtml+xml',
    'text/javascript',
    'application/problem+json',
    ' ',
    'image/svg',
  ])('%s is downloaded', (type) => {
    const download = { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' }
    expect(answerHeaders({ 'content-type': type })).toEqual({ ...download, ...always })
  })
})

test('every 3xx but 304 is a redirect', () => {
  expect([200, 300, 301, 302, 303, 304, 307, 308, 404].filter(isRedirect)).toEqual([300, 301, 302, 303, 307, 308])
})

describe('an upstream', () => {
  test.each([
    ['https://attendance.example', 'https://attendance.example'],
    ['https://attendance.example/base/', 'https://attendance.example/base'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ])('%s is stored as %s', (given, stored) => expect(UpstreamUrl.parse(given)).toBe(stored))
  test.each([
    ...[
      'http://attendance.example',
      'ftp://x',
      'https://a:b@x.example',
      'https://x.example/?a',
      'https://x.example/#',
      'https://x.example:22',
    ],
    'x',
  ])('%s is refused', (given) => expect(UpstreamUrl.safeParse(given).success).toBe(false))
})
