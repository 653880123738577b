import { createServer, request as httpRequest, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { isProblem, problem } from '../../../../src/core/kit/index.ts'
import { openConnections } from '../../../../src/daemon/modules/services/connections.ts'
import { openProxy } from '../../../../src/daemon/modules/services/proxy-request.ts'
import { egressRules } from '../../../../src/node/index.ts'

const listen = async (handler: RequestListener) => {
  const server = createServer(handler)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, port: (server.address() as { port: number }).port }
}

function aProxy(timeoutMs?: number) {
  const connections = openConnections(egressRules())
  onTestFinished(connections.close)
  return openProxy(connections, timeoutMs)
}

/** A platform in front of a service. Problems are sent as their status and code. */
async function proxied(service: RequestListener, { timeoutMs = 5000, signal = new AbortController().signal, headers = {} } = {}) {
  const upstream = await listen(service)
  const proxy = aProxy(timeoutMs)
  const front = await listen((request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('content-security-policy', 'of the frame')
    const of = { request, response, moduleId: 'attendance', tenantId: 'ten_1' }
    proxy({ ...of, url: `${upstream.url}/api${request.url}`, headers, signal }).catch((error: unknown) => {
      const found = isProblem(error) ? error : undefined
      response.writeHead(found?.status ?? 500).end(found?.code ?? String(error))
    })
  })
  return { ...front, upstream }
}

const textOf = async (request: IncomingMessage) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

test('a request and its answer pass, without credentials of the platform', async () => {
  const seen: { url?: string | undefined; headers?: IncomingMessage['headers']; method?: string | undefined; body?: string } = {}
  const { url, upstream } = await proxied(
    async (request, response) => {
      Object.assign(seen, { url: request.url, headers: request.headers, method: request.method, body: await textOf(request) })
      response.writeHead(201, { 'content-type': 'application/json', etag: '"1"', 'x-module-page': '2', 'set-cookie': 'a=b', server: 'x' })
      response.end('{"ok":true}')
    },
    { headers: { authorization: 'Bearer identity', 'x-forwarded-host': 'school.example' } },
  )
  const answer = await fetch(`${url}/lessons?day=1`, {
    method: 'POST',
    body: '{"a":1}',
    headers: { authorization: 'Bearer platform', cookie: 's=1', 'content-type': 'application/json', 'x-forwarded-for': '1.2.3.4' },
  })
  expect(answer.status).toBe(201)
  expect(await answer.json()).toEqual({ ok: true })
  expect(seen).toMatchObject({ url: '/api/lessons?day=1', method: 'POST', body: '{"a":1}' })
  expect(seen.headers).toMatchObject({
    authorization: 'Bearer identity',
    'x-forwarded-host': 'school.example',
    host: new URL(upstream.url).host,
  })
  expect(Object.keys(seen.headers ?? {})).not.toEqual(expect.arrayContaining(['cookie']))
  expect(seen.headers).not.toHaveProperty('x-forwarded-for')
  expect(answer.headers.get('set-cookie')).toBeNull()
  expect(answer.headers.get('server')).toBeNull()
  expect(answer.headers.get('x-module-page')).toBe('2')
  expect(answer.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
})

test('a page with a cookie is downloaded, without its cookie', async () => {
  const { url } = await proxied((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': ['a=b', 'c=d'] }).end('<script>alert(1)</script>')
  })
  const answer = await fetch(url)
  expect(answer.headers.get('content-disposition')).toBe('attachment')
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(answer.headers.get('set-cookie')).toBeNull()
})

test.each([
  [301, { location: 'https://evil.example' }],
  [302, { location: '/login' }],
  [307, { location: 'http://169.254.169.254/' }],
  [200, { 'content-encoding': 'gzip' }],
  [200, { 'content-length': String(11 * 1024 * 1024) }],
])('an answer %i with %o is 502', async (status, headers) => {
  const { url } = await proxied((_, response) => void response.writeHead(status, headers as Record<string, string>).end())
  const answer = await fetch(url, { redirect: 'manual' })
  expect([answer.status, await answer.text()]).toEqual([502, 'MODULE_SERVICE_FAILED'])
})

test('304 passes with its tag', async () => {
  const { url } = await proxied((_, response) => void response.writeHead(304, { etag: '"1"' }).end())
  const answer = await fetch(url, { headers: { 'if-none-match': '"1"' } })
  expect([answer.status, answer.headers.get('etag')]).toEqual([304, '"1"'])
})

test('a service that is away, or hangs up, is 502', async () => {
  const { url } = await proxied((request) => void request.socket.destroy())
  expect((await fetch(url)).status).toBe(502)
  const proxy = aProxy()
  const { signal } = new AbortController()
  const front = await listen((request, response) => {
    const of = { request, response, moduleId: 'x', tenantId: 'ten_1' }
    proxy({ ...of, url: 'http://127.0.0.1:1/api', headers: {}, signal }).catch((error) =>
      response.writeHead(error.status).end(error.message),
    )
  })
  const answer = await fetch(front.url)
  expect([answer.status, await answer.text()]).toEqual([502, 'The service of the module x is not reachable (ECONNREFUSED).'])
})

test('a service that does not answer in time is 502', async () => {
  const { url } = await proxied(() => undefined, { timeoutMs: 200 })
  expect((await fetch(url)).status).toBe(502)
})

test('an answer that stops in the middle, or never ends, is cut off', async () => {
  const { url } = await proxied((_, response) => void response.writeHead(200, { 'content-type': 'text/plain' }).write('a'), {
    timeoutMs: 200,
  })
  const answer = await fetch(url)
  await expect(answer.text()).rejects.toThrow()
})

test('more than 10 MB is refused: declared, sent in chunks, or answered', async () => {
  let received = 0
  const { port, url } = await proxied(async (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/plain' })
      for (let n = 0; n < 12 && !response.destroyed; n++)
        if (!response.write(Buffer.alloc(1_048_576, 97))) await new Promise((r) => setImmediate(r))
      return void response.end()
    }
    request.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    request.on('end', () => response.end())
  })
  await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow()

  const declared = await send(port, { 'content-length': 11 * 1_048_576 }, 0)
  expect(declared).toBe(413)
  expect(await send(port, { 'transfer-encoding': 'chunked' }, 12)).toBe(413)
  expect(received).toBeLessThan(11 * 1_048_576)
})

const send = (port: number, headers: Record<string, string | number>, megabytes: number) =>
  new Promise<number | undefined>((done, fail) => {
    const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers }, (answer) => done(answer.statusCode))
    request.on('error', (error: Error & { code?: string }) =>
      error.code === 'EPIPE' || error.code === 'ECONNRESET' ? undefined : fail(error),
    )
    for (let n = 0; n < megabytes; n++) request.write(Buffer.alloc(1_048_576))
    if (megabytes > 0) request.end()
    else request.flushHeaders()
  })

test('an upgrade is 501', async () => {
  const { port } = await proxied((_, response) => void response.end())
  const socket = connect(port, '127.0.0.1')
  socket.write(
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\n\r\n',
  )
  const text = await new Promise<string>((done) => socket.once('data', (data) => done(data.toString())))
  socket.destroy()
  expect(text).toMatch(/^HTTP\/1.1 501 /)
})

test('a request ends when its caller loses access, before and within the answer', async () => {
  const access = new AbortController()
  let closed = 0
  const { url } = await proxied(
    (request, response) => {
      response.on('close', () => {
        closed += 1
      })
      if (request.url?.endsWith('stream')) response.writeHead(200, { 'content-type': 'text/plain' }).write('a')
    },
    { signal: access.signal },
  )
  const waiting = fetch(`${url}/waiting`)
  const stream = await fetch(`${url}/stream`)
  access.abort(problem('UNAUTHENTICATED', 'The session has ended'))
  expect(await (await waiting).text()).toBe('UNAUTHENTICATED')
  await expect(stream.text()).rejects.toThrow()
  await expect.poll(() => closed).toBe(2)
})
