import { expect, test } from 'vitest'
import { z } from 'zod'
import { admin, type Contract, empty, endpoint, makeClient, open, sse } from '../../../src/core/contract/index.ts'
import { isProblem, manualClock, problem } from '../../../src/core/kit/index.ts'
import { type Served, serve } from '../../../src/daemon/http/index.ts'
import { keyring, unseal } from '../../../src/daemon/sealed/index.ts'
import { servedApp } from '../../support/served-app.ts'

const contract = {
  echo: endpoint({
    method: 'POST',
    path: '/echo/:id',
    auth: open,
    params: z.object({ id: z.string().max(8) }),
    query: z.strictObject({ loud: z.stringbool().default(false) }),
    body: z.strictObject({ text: z.string(), nested: z.strictObject({ n: z.number() }).optional() }),
    bodyLimit: 1000,
    returns: z.object({ id: z.string(), text: z.string(), loud: z.boolean() }),
    summary: 'Says it again',
  }),
  anyValues: endpoint({
    method: 'POST',
    path: '/values',
    auth: open,
    body: z.strictObject({ values: z.record(z.string(), z.unknown()) }),
    returns: empty,
    summary: 'Takes any values',
  }),
  secretRoom: endpoint({
    method: 'GET',
    path: '/room',
    auth: admin('operator'),
    returns: z.object({ name: z.string() }),
    summary: 'For operators',
  }),
  nothing: endpoint({ method: 'DELETE', path: '/room', auth: open, returns: empty, summary: 'Does nothing' }),
  broken: endpoint({ method: 'GET', path: '/broken', auth: open, returns: empty, summary: 'Has a fault' }),
  busy: endpoint({ method: 'GET', path: '/busy', auth: open, returns: empty, summary: 'Is busy' }),
  guarded: endpoint({ method: 'GET', path: '/guarded', auth: open, perAddress: 2, returns: empty, summary: 'Few at a time' }),
  limited: endpoint({ method: 'GET', path: '/limited', auth: admin('viewer'), perAddress: 1, returns: empty, summary: 'Few at a time' }),
  sealed: endpoint({ method: 'GET', path: '/sealed', auth: open, returns: empty, summary: 'Opens a secret' }),
  sealedAdmin: endpoint({ method: 'GET', path: '/sealed/admin', auth: admin('viewer'), returns: empty, summary: 'Opens a secret' }),
  count: endpoint({ method: 'GET', path: '/count', auth: open, returns: sse(z.object({ n: z.number() })), summary: 'Counts' }),
} satisfies Contract

const openSealed = () =>
  void unseal(keyring([Buffer.alloc(32).toString('base64')]), { table: 'signing_keys', row: 'k1', column: 'private' }, 'damaged')

async function* counting() {
  for (const n of [1, 2, 3]) yield { id: String(n), event: 'n', data: { n } }
}

async function start(role: 'viewer' | 'operator' = 'viewer') {
  const served: Served[] = [
    serve(contract.echo, ({ params, query, body }) => ({ id: params.id, text: body.text, loud: query.loud })),
    serve(contract.anyValues, () => undefined),
    serve(contract.secretRoom, ({ actor }) => ({ name: actor.name })),
    serve(contract.nothing, () => undefined),
    serve(contract.broken, () => {
      throw new Error('password=hunter2 at line 7')
    }),
    serve(contract.busy, () => {
      throw problem('UNAVAILABLE', 'try again', { retryAfterSeconds: 7 })
    }),
    serve(contract.guarded, () => undefined),
    serve(contract.limited, () => undefined),
    serve(contract.sealed, openSealed),
    serve(contract.sealedAdmin, openSealed),
    serve(contract.count, () => counting()),
  ]
  const authenticate = {
    admin: async (authorization: string | undefined) => {
      if (authorization !== 'Bearer good') throw problem('UNAUTHENTICATED', 'log in first: tenantry login')
      return { kind: 'admin', accountId: 'a1', name: 'anna', role, sessionId: 's1' } as const
    },
  }
  const { url } = await servedApp(served, { authenticate, clock: manualClock() })
  return url
}

const post = (url: string, body: string | Buffer<ArrayBuffer>, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
  fetch(url, { method: 'POST', body, headers })

const failures = [
  ['a field of the wrong type', (base: string) => post(`${base}/echo/1`, '{"text":5}'), 400, 'VALIDATION'],
  ['an unknown field', (base: string) => post(`${base}/echo/1`, '{"text":"a","extra":1}'), 400, 'VALIDATION'],
  ['a broken percent escape', (base: string) => post(`${base}/echo/%E0%A4%A`, '{"text":"a"}'), 400, 'VALIDATION'],
  ['the character NUL', (base: string) => post(`${base}/echo/1`, '{"text":"a\\u0000b"}'), 400, 'VALIDATION'],
  ['half of a character', (base: string) => post(`${base}/echo/1`, '{"text":"a\\ud83eb"}'), 400, 'VALIDATION'],
  ['the other half of one', (base: string) => post(`${base}/echo/1`, '{"text":"\\udd86"}'), 400, 'VALIDATION'],
  ['no JSON', (base: string) => post(`${base}/echo/1`, '{'), 400, 'BAD_JSON'],
  ['letters that are not UTF-8', (base: string) => post(`${base}/echo/1`, Buffer.from('{"text":"J\u00f6rg"}', 'latin1')), 400, 'BAD_JSON'],
  [
    'UTF-16',
    (base: string) =>
      post(`${base}/echo/1`, Buffer.from('{"text":"a"}', 'utf16le'), { 'content-type': 'application/json; charset=utf-16le' }),
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ],
  ['no token', (base: string) => fetch(`${base}/room`), 401, 'UNAUTHENTICATED'],
  ['a role too low', (base: string) => fetch(`${base}/room`, { headers: { authorization: 'Bearer good' } }), 403, 'FORBIDDEN'],
  ['an unknown path', (base: string) => fetch(`${base}/nowhere`), 404, 'NOT_FOUND'],
  ['another method', (base: string) => fetch(`${base}/room`, { method: 'PUT' }), 405, 'METHOD_NOT_ALLOWED'],
  ['too large a body', (base: string) => post(`${base}/echo/1`, JSON.stringify({ text: 'x'.repeat(2000) })), 413, 'PAYLOAD_TOO_LARGE'],
  [
    'a wrong content type',
    (base: string) => post(`${base}/echo/1`, '{"text":"a"}', { 'content-type': 'text/plain' }),
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ],
  ['a fault', (base: string) => fetch(`${base}/broken`), 500, 'INTERNAL'],
  ['a busy service', (base: string) => fetch(`${base}/busy`), 503, 'UNAVAILABLE'],
] as const

test.each(failures)('%s is answered in the one error shape', async (_title, call, status, code) => {
  const response = await call(await start())
  const body = (await response.json()) as Record<string, unknown>
  expect({ status: response.status, code: body.code }).toEqual({ status, code })
  expect(typeof body.message).toBe('string')
  expect(typeof body.retryable).toBe('boolean')
  expect(response.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9-]{1,64}$/)
  expect(response.headers.get('cache-control')).toBe('no-store')
})

test('a whole character of two halves is none, and what is somebody’s own is kept by nobody on the way', async () => {
  const base = await start()
  const whole = await post(`${base}/echo/1`, '{"text":"\\ud83e\\udd86"}')
  expect(await whole.json()).toMatchObject({ text: '🦆' })
  const room = await fetch(`${await start('operator')}/room`, { headers: { authorization: 'Bearer good' } })
  expect([whole, room].map(({ headers }) => headers.get('cache-control'))).toEqual(['no-store', 'no-store'])
})

test('every field that does not fit is named by its path', async () => {
  const response = await post(`${await start()}/echo/1`, '{"nested":{"n":"x"},"extra":1}')
  const { details } = (await response.json()) as { details: { path: string }[] }
  expect(details.map(({ path }) => path).sort()).toEqual(['extra', 'nested.n', 'text'])
})

test('an unknown query parameter is ignored, whether the endpoint has others or none; a wrong value is not', async () => {
  const base = await start()
  const answers = await Promise.all(
    ['quiet=1&loud=true', 'loud=perhaps&quiet=1'].map((query) => post(`${base}/echo/1?${query}`, '{"text":"a"}')),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 400])
  expect(await answers[0]?.json()).toMatchObject({ loud: true })
  expect(await answers[1]?.json()).toMatchObject({ details: [{ path: 'loud' }] })
  expect((await fetch(`${base}/guarded?quiet=1`)).status).toBe(204)
})

test.each([
  [63, 204],
  [65, 400],
  [20_000, 400],
])('values of any form are taken up to 64 levels: %i levels are answered %i', async (levels, status) => {
  const arrays = levels - 2
  const response = await post(`${await start()}/values`, `{"values":{"a":${'['.repeat(arrays)}${']'.repeat(arrays)}}}`)
  expect(response.status).toBe(status)
  if (status === 400)
    expect(await response.json()).toMatchObject({
      code: 'VALIDATION',
      message: expect.stringMatching(/^values\.a(\.0)+: must not be nested deeper than 64 levels$/),
    })
})

test('a fault tells nothing of itself', async () => {
  const response = await fetch(`${await start()}/broken`)
  expect(await response.text()).not.toContain('hunter2')
})

test('405 says what is allowed and 503 when to come back', async () => {
  const base = await start()
  expect((await fetch(`${base}/room`, { method: 'PUT' })).headers.get('allow')).toBe('GET, HEAD, DELETE')
  expect((await fetch(`${base}/busy`)).headers.get('retry-after')).toBe('7')
})

test('the fifth request at once from one address is refused where strangers may try', async () => {
  const base = await start()
  const statuses = []
  for (let n = 0; n < 5; n++) statuses.push((await fetch(`${base}/guarded`)).status)
  expect(statuses).toEqual([204, 204, 204, 204, 429])
})

test('a caller that is not identified gets 401 where calls are limited, and uses up none of them', async () => {
  const base = await start()
  const status = async (headers: Record<string, string> = {}) => (await fetch(`${base}/limited`, { headers })).status
  for (let n = 0; n < 5; n++) expect(await status()).toBe(401)
  const good = { authorization: 'Bearer good' }
  expect([await status(good), await status(good), await status(good)]).toEqual([204, 204, 429])
})

test('only an admin gets the table and row of a sealed value that does not open', async () => {
  const base = await start()
  const text = async (path: string) => (await fetch(`${base}${path}`, { headers: { authorization: 'Bearer good' } })).json()
  expect(await text('/sealed')).toEqual({
    code: 'SEALED_UNREADABLE',
    message: 'A stored secret cannot be opened; see the log of the daemon for this request id.',
    retryable: false,
  })
  expect(await text('/sealed/admin')).toMatchObject({ code: 'SEALED_UNREADABLE', message: expect.stringContaining('signing_keys') })
})

test('a request id from outside is kept when it is harmless and replaced when it is not', async () => {
  const base = await start()
  const kept = await fetch(`${base}/nowhere`, { headers: { 'x-request-id': 'abc-123' } })
  const replaced = await fetch(`${base}/nowhere`, { headers: { 'x-request-id': 'abc"><script>' } })
  expect(kept.headers.get('x-request-id')).toBe('abc-123')
  expect(replaced.headers.get('x-request-id')).not.toContain('script')
})

test('the typed client sends what the contract says and gives problems back', async () => {
  const client = makeClient(contract, { baseUrl: await start('operator'), headers: () => ({ authorization: 'Bearer good' }) })
  expect(await client.echo({ params: { id: 'a/b' }, query: { loud: 'true' }, body: { text: 'hi' } })).toEqual({
    id: 'a/b',
    text: 'hi',
    loud: true,
  })
  expect(await client.secretRoom()).toEqual({ name: 'anna' })
  expect(await client.nothing()).toBeUndefined()
  await expect(client.busy()).rejects.toSatisfy((error) => isProblem(error, 'UNAVAILABLE') && error.retryAfterSeconds === 7)
})

test('the client reads a stream message by message', async () => {
  const client = makeClient(contract, { baseUrl: await start() })
  const seen = []
  for await (const message of await client.count()) seen.push(message)
  expect(seen).toEqual([1, 2, 3].map((n) => ({ id: String(n), event: 'n', data: { n } })))
})

test('a daemon that is not there is a typed problem', async () => {
  const client = makeClient(contract, { baseUrl: 'http://127.0.0.1:9' })
  await expect(client.nothing()).rejects.toSatisfy((error) => isProblem(error, 'UNREACHABLE'))
})
