import { connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import type { PlatformPrincipal } from '../../../../src/core/kit/index.ts'
import { moduleRunsContract } from '../../../../src/core/modules/index.ts'
import { serveContract } from '../../../../src/daemon/http/index.ts'
import { openConnections } from '../../../../src/daemon/modules/services/connections.ts'
import { openProxy } from '../../../../src/daemon/modules/services/proxy-request.ts'
import { egressRules } from '../../../../src/node/index.ts'
import { startHaproxy } from '../../../support/haproxy.ts'
import { startPlatformEdge } from '../../../support/platform-edge.ts'
import { aRawService, echo, type Received } from '../../../support/raw-service.ts'
import { aSmallApp } from '../../../support/small-app.ts'

const path = '/api/platform/v1/module-api/attendance'
const userOf = (token: string) => {
  const [tenantId, userId] = token.split('.')
  return { kind: 'user', tenantId, userId, capabilities: [], roles: [] } as unknown as PlatformPrincipal
}
const tenants = ['ten_a', 'ten_b']
/** Tokens: a user of each tenant, and a hundred more. */
const users = tenants.flatMap((tenant) => [tenant, ...Array.from({ length: 100 }, (_, n) => `${tenant}.${n}`)])

/** The daemon's HTTP with the route of modules, before a service. */
async function aPlatform(serviceUrl: string) {
  const connections = openConnections(egressRules())
  const proxy = openProxy(connections, 3000)
  onTestFinished(connections.close)
  const served = serveContract(moduleRunsContract, {
    callModule:
      async ({ raw, actor: { tenantId }, signal }) =>
      (response) => {
        const of = { request: raw.request, response, moduleId: 'attendance', tenantId, signal }
        return proxy({ ...of, url: `${serviceUrl}/api${raw.rest}${raw.search}`, headers: { 'x-module-tenant': tenantId } })
      },
  })
  return aSmallApp(served, Object.fromEntries(users.map((token) => [token, userOf(token)])))
}

type Front = Readonly<{ open: () => Socket; host: string }>

const fronts: Record<string, (port: number) => Promise<Front>> = {
  directly: async (port) => ({ open: () => connect(port, '127.0.0.1'), host: 'platform.example' }),
  'behind nginx': async (port) => {
    const { serverName, ports, close } = await startPlatformEdge(port, 'set_real_ip_from 127.0.0.1; real_ip_header X-Test-Client;')
    onTestFinished(close)
    const open = () => connectSecurely({ port: ports.secure, host: '127.0.0.1', servername: serverName, rejectUnauthorized: false })
    return { open, host: serverName }
  },
  'behind HAProxy': async (port) => {
    const haproxy = await startHaproxy(port)
    return { open: () => connect(haproxy, '127.0.0.1'), host: 'platform.example' }
  },
}

type Answer = Readonly<{ status: number; head: string; text: string }>

/** The last answer on a connection; status 0 without one. */
const answerIn = (text: string): Answer => {
  const rest = text.replace(/^(?:HTTP\/1\.1 1\d\d [\s\S]*?\r\n\r\n)+/, '')
  const at = rest.indexOf('\r\n\r\n')
  const head = at < 0 ? '' : rest.slice(0, at)
  return { status: Number(head.split(' ')[1] ?? 0), head, text: at < 0 ? '' : rest.slice(at + 4) }
}

/** Sends bytes as they are, and reads until the connection ends. */
const exchange = (socket: Socket, bytes: string): Promise<Answer> =>
  new Promise((done) => {
    let text = ''
    socket.setEncoding('latin1').on('data', (more) => {
      text += more
    })
    socket.on('error', () => undefined).on('close', () => done(answerIn(text)))
    socket.write(bytes, 'latin1')
  })

const stolen = 'GET /stolen HTTP/1.1\r\nHost: x\r\nX-Module-Id: stolen\r\nContent-Length: 600\r\n\r\n'
const chunked = `${stolen.length.toString(16)}\r\n${stolen}\r\n0\r\n`
type Form = Readonly<{ headers: readonly string[]; body: string; sent: string }>
const forms: Record<string, Form> = {
  none: { headers: [], body: '', sent: '' },
  'content-length': { headers: [`Content-Length: ${stolen.length}`], body: stolen, sent: stolen },
  'length named in Connection': {
    headers: [`Content-Length: ${stolen.length}`, 'Connection: close, content-length'],
    body: stolen,
    sent: stolen,
  },
  chunked: { headers: ['Transfer-Encoding: chunked'], body: stolen, sent: `${chunked}\r\n` },
  'chunked, named in Connection': {
    headers: ['Transfer-Encoding: chunked', 'Connection: close, transfer-encoding'],
    body: stolen,
    sent: `${chunked}\r\n`,
  },
  trailers: { headers: ['Transfer-Encoding: chunked', 'Trailer: X-Last'], body: stolen, sent: `${chunked}X-Last: 1\r\n\r\n` },
  'a trailer that frames': { headers: ['Transfer-Encoding: chunked'], body: stolen, sent: `${chunked}Content-Length: 5\r\n\r\n` },
  both: { headers: ['Transfer-Encoding: chunked', `Content-Length: ${chunked.length + 2}`], body: stolen, sent: `${chunked}\r\n` },
  'both, in disguise': { headers: ['Transfer-Encoding : chunked', `Content-Length: ${stolen.length}`], body: stolen, sent: stolen },
  'unknown coding': { headers: ['Transfer-Encoding: xchunked'], body: '', sent: `${chunked}\r\n` },
  'two lengths': { headers: ['Content-Length: 0', `Content-Length: ${stolen.length}`], body: '', sent: stolen },
  expect: { headers: [`Content-Length: ${stolen.length}`, 'Expect: 100-continue'], body: stolen, sent: stolen },
}
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']

let count = 0
const requestOf = (
  method: string,
  { headers, sent }: Form,
  { host, tenant, id }: Readonly<{ host: string; tenant: string; id: string }>,
) => {
  const own = [
    `Host: ${host}`,
    `Authorization: Bearer ${tenant}`,
    `X-Module-Id: ${id}`,
    `X-Test-Client: 10.${++count >> 8}.${count & 255}.1`,
  ]
  const lines = [`${method} ${path}/${id} HTTP/1.1`, ...own, ...headers]
  if (!headers.some((line) => line.startsWith('Connection:'))) lines.push('Connection: close')
  return `${lines.join('\r\n')}\r\n\r\n${sent}`
}

const tenantsBySocket = (received: readonly Received[]) => {
  const bySocket = new Map<number, Set<string>>()
  for (const { socket, tenant } of received) bySocket.set(socket, (bySocket.get(socket) ?? new Set()).add(tenant))
  return [...bySocket.values()].map((found) => [...found])
}

test.each(Object.keys(fronts))(
  '%s, each method with each form of a body gets its own answer or is refused, on no shared connection',
  async (way) => {
    const service = await aRawService()
    const { port } = await aPlatform(service.url)
    const front = await (fronts[way] as (typeof fronts)[string])(port)
    const send = (method: string, form: Form, to: { tenant: string; id: string }) =>
      exchange(front.open(), requestOf(method, form, { host: front.host, ...to }))
    const expected = new Map<string, string>()
    for (const method of methods)
      for (const [name, form] of Object.entries(forms)) {
        const id = `${method}-${name.replaceAll(/\W/g, '-')}`
        const answer = await send(method, form, { tenant: 'ten_a', id })
        const victim = await send('GET', forms.none as Form, { tenant: 'ten_b', id: `victim-${id}` })
        expect([id, victim.status, victim.text]).toEqual([id, 200, JSON.stringify({ id: `victim-${id}` })])
        expected.set(`victim-${id}`, '')
        if (answer.status === 200) {
          expect(answer.head).toContain(`x-module-id: ${id}`)
          expect(answer.text).toBe(method === 'HEAD' ? '' : JSON.stringify({ id }))
          expected.set(id, form.body)
        } else expect([id, answer.status >= 400 && answer.status < 502]).toEqual([id, true])
      }
    expect(Object.fromEntries(service.received.map(({ id, body }) => [id, body]))).toEqual(Object.fromEntries(expected))
    expect(service.received).toHaveLength(expected.size)
    expect(tenantsBySocket(service.received).filter((found) => found.length > 1)).toEqual([])
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const name of ['none', 'content-length', 'chunked', 'trailers', 'expect'])
        expect([...expected.keys()]).toContain(`${method}-${name}`)
  },
)

test('many users of two tenants at once each get their own answer, from connections of their tenant', async () => {
  const service = await aRawService()
  const { port } = await aPlatform(service.url)
  const calls = Array.from({ length: 200 }, async (_, n) => {
    const [tenant, id] = [tenants[n % 2] as string, `call-${n}`]
    const names = ['none', 'chunked', 'content-length']
    const form = forms[names[n % 3] as string] as Form
    const method = form.body ? 'DELETE' : 'GET'
    const token = `${tenant}.${n >> 1}`
    const { status, text } = await exchange(connect(port, '127.0.0.1'), requestOf(method, form, { host: 'x', tenant: token, id }))
    return [status, text, id]
  })
  for (const [status, text, id] of await Promise.all(calls)) expect([status, text]).toEqual([200, JSON.stringify({ id })])
  expect(service.received).toHaveLength(200)
  expect(tenantsBySocket(service.received).filter((found) => found.length > 1)).toEqual([])
})

const get = (port: number, id: string, tenant = 'ten_a') =>
  exchange(connect(port, '127.0.0.1'), requestOf('GET', forms.none as Form, { host: 'x', tenant, id }))
const own = (id: string) => JSON.stringify({ id })

test('a service that reads no bodies answers nobody else with a smuggled request', async () => {
  const service = await aRawService({ readBody: (_, rest) => ['', rest] })
  const { port } = await aPlatform(service.url)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    for (const name of ['content-length', 'chunked']) {
      const id = `${method}-${name}`
      await exchange(connect(port, '127.0.0.1'), requestOf(method, forms[name] as Form, { host: 'x', tenant: 'ten_a', id }))
      for (const tenant of tenants) expect((await get(port, `after-${id}`, tenant)).text).toBe(own(`after-${id}`))
    }
})

test('a caller that hangs up within its body, or before its answer, leaves no answer to anybody', async () => {
  const late: (() => void)[] = []
  const service = await aRawService({
    answer: (received, socket) => (received.id === 'left' ? late.push(() => socket.write(echo(received))) : socket.write(echo(received))),
  })
  const { port } = await aPlatform(service.url)
  for (const [method, form] of [
    ['POST', { headers: ['Content-Length: 100'], body: '', sent: 'cut' }],
    ['POST', { headers: ['Transfer-Encoding: chunked'], body: '', sent: '5\r\ncut' }],
    ['GET', forms.none],
    ['DELETE', forms.chunked],
  ] as [string, Form][]) {
    const socket = connect(port, '127.0.0.1')
    socket.write(requestOf(method, form, { host: 'x', tenant: 'ten_a', id: 'left' }))
    await expect.poll(() => service.open.size).toBeGreaterThan(0)
    socket.destroy()
    await expect.poll(() => service.open.size).toBe(0)
    for (const answer of late.splice(0)) answer()
    expect((await get(port, 'next')).text).toBe(own('next'))
    for (const open of service.open) open.destroy()
  }
  expect(service.received.filter(({ id, body }) => id === 'left' && body.includes('cut'))).toEqual([])
})

test('a service that answers before it has read the body ends that connection, and the next requests get their own answers', async () => {
  const service = await aRawService({
    onHead: (received, socket) => received.id === 'early' && socket.write(echo(received)),
    answer: (received, socket) => received.id !== 'early' && socket.write(echo(received)),
  })
  const { port } = await aPlatform(service.url)
  for (const form of [
    { headers: ['Content-Length: 200000'], body: '', sent: 'begun' },
    { headers: ['Transfer-Encoding: chunked'], body: '', sent: '5\r\nbegun\r\n' },
  ]) {
    const early = await exchange(connect(port, '127.0.0.1'), requestOf('POST', form, { host: 'x', tenant: 'ten_a', id: 'early' }))
    expect([early.status, early.text]).toEqual([200, own('early')])
    expect(early.head.toLowerCase()).toContain('connection: close')
    expect((await get(port, 'next')).text).toBe(own('next'))
  }
})

test('an answer that the service does not finish is cut off for its caller, and nothing of it reaches another', async () => {
  const part = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'
  const answers: Record<string, string> = {
    length: `${part}content-length: 100\r\n\r\npart`,
    chunk: `${part}transfer-encoding: chunked\r\n\r\n4\r\npart\r\n`,
    head: 'HTTP/1.1 200 OK\r\ncontent-ty',
    nothing: '',
  }
  const service = await aRawService({
    answer: (received, socket) => (received.id in answers ? socket.end(answers[received.id] as string) : socket.write(echo(received))),
  })
  const { port } = await aPlatform(service.url)
  for (const id of Object.keys(answers)) {
    const { status, text, head } = await get(port, id)
    if (status === 502) expect(['head', 'nothing']).toContain(id)
    else expect([id, text.includes('\r\n0\r\n'), /content-length: 4\b/.test(head)]).toEqual([id, false, false])
    expect((await get(port, 'next')).text).toBe(own('next'))
  }
  const [, , , ...nothing] = service.received.filter(({ id }) => id !== 'next')
  // The service may not have read a request that it ends without a byte on a connection that was used before: a GET is sent once more.
  expect(nothing.map(({ id }) => id)).toEqual(['nothing', 'nothing'])
})

test('a connection that the service closes when it is used again is replaced for GET; other methods never use one again', async () => {
  let closes = 0
  const service = await aRawService({
    onHead: (_, socket) => closes-- > 0 && socket.destroy(),
    answer: (received, socket) => void (socket.destroyed || socket.write(echo(received))),
  })
  const { port } = await aPlatform(service.url)
  const socketOf = (id: string) => service.received.findLast((one) => one.id === id)?.socket
  for (const id of ['first', 'second']) expect((await get(port, id)).text).toBe(own(id))
  expect(socketOf('second')).toBe(socketOf('first'))
  closes = 1
  expect((await get(port, 'again')).text).toBe(own('again'))
  closes = 1
  const post = (id: string) =>
    exchange(connect(port, '127.0.0.1'), requestOf('POST', forms.chunked as Form, { host: 'x', tenant: 'ten_a', id }))
  expect([(await post('lost')).status, (await post('post')).text]).toEqual([502, own('post')])
  expect(socketOf('post')).not.toBe(socketOf('again'))
})

test('bytes that a service sends without being asked are no answer', async () => {
  const forged = echo({ id: 'forged', method: 'GET' })
  const status = (line: string, id: string) => `HTTP/1.1 ${line}\r\nx-module-id: ${id}\r\ncontent-length: 0\r\n\r\n`
  const service = await aRawService({
    answer: (received, socket) => {
      if (received.id === 'later') setTimeout(() => socket.write(forged), 20)
      if (received.id === 'empty') return socket.write(status('204 No Content', 'empty') + forged)
      if (received.id === 'tag') return socket.write(status('304 Not Modified', 'tag') + forged)
      return socket.write(echo(received) + (received.id === 'double' || received.method === 'HEAD' ? forged : ''))
    },
  })
  const { port } = await aPlatform(service.url)
  for (const id of ['double', 'empty', 'tag', 'head', 'later']) {
    const form = forms.none as Form
    await exchange(connect(port, '127.0.0.1'), requestOf(id === 'head' ? 'HEAD' : 'GET', form, { host: 'x', tenant: 'ten_a', id }))
    if (id === 'later') await expect.poll(() => service.open.size).toBe(0)
    expect((await get(port, `after-${id}`)).text).toBe(own(`after-${id}`))
  }
})

test.each([
  ['a status above 599', 'HTTP/1.1 999 x\r\ncontent-length: 0\r\n\r\n'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['another coding', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  ['20,000 headers', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}\r\n`],
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
])('an answer with %s is 502', async (_, bytes) => {
  const service = await aRawService({ answer: (__, socket) => void socket.write(bytes) })
  const { port } = await aPlatform(service.url)
  expect(await get(port, 'one')).toMatchObject({ status: 502, text: expect.stringContaining('MODULE_SERVICE_FAILED') })
})

test('interim answers are dropped, and a header of the service cannot begin another', async () => {
  const interim = `HTTP/1.1 100 Continue\r\n\r\n${'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(50)}`
  const head = 'HTTP/1.1 200 OK\r\nx-module-a: b\rset-cookie: c=d\r\netag: "\u0085set-cookie: e=f"\r\ncontent-length: 2\r\n\r\nok'
  const service = await aRawService({
    answer: ({ id }, socket) => void socket.write(id === 'interim' ? interim + echo({ id, method: 'GET' }) : head, 'latin1'),
  })
  const { port } = await aPlatform(service.url)
  const answer = await get(port, 'interim')
  expect([answer.status, answer.text, answer.head.includes('link')]).toEqual([200, own('interim'), false])
  expect((await get(port, 'split')).head).not.toMatch(/set-cookie/i)
})

test('pipelined requests, HTTP/1.0 and a whole address as target reach the service as one request each', async () => {
  const targets: string[] = []
  const service = await aRawService({ onHead: ({ target }) => targets.push(target) })
  const { port } = await aPlatform(service.url)
  const of = { host: 'x', tenant: 'ten_a' }
  const form = { ...(forms.chunked as Form), headers: ['Transfer-Encoding: chunked', 'Connection: keep-alive'] }
  const three =
    ['one', 'two'].map((id) => requestOf('POST', form, { ...of, id })).join('') +
    requestOf('GET', forms.none as Form, { ...of, id: 'three' })
  let text = ''
  await new Promise<void>((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('data', (more) => {
      text += more
    })
    socket.on('close', () => done()).write(three)
  })
  expect(text.match(/"id":"\w+"/g)).toEqual(['"id":"one"', '"id":"two"', '"id":"three"'])
  const old = requestOf('GET', forms.none as Form, { ...of, id: 'old' }).replace('HTTP/1.1', 'HTTP/1.0')
  expect((await exchange(connect(port, '127.0.0.1'), old)).text).toBe(own('old'))
  const whole = requestOf('GET', forms.none as Form, { ...of, id: 'whole' }).replace('GET /', 'GET http://other.example/')
  expect((await exchange(connect(port, '127.0.0.1'), whole)).text).toBe(own('whole'))
  expect(targets).toEqual(['one', 'two', 'three', 'old', 'whole'].map((id) => `/api/${id}`))
})
