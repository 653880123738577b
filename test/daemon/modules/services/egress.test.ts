import type { lookup } from 'node:dns'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openServiceCalls } from '../../../../src/daemon/modules/services/call-service.ts'
import { openConnections } from '../../../../src/daemon/modules/services/connections.ts'
import { openProxy } from '../../../../src/daemon/modules/services/proxy-request.ts'
import { newSecret } from '../../../../src/daemon/modules/services/upstreams.repo.ts'
import { egressRules, systemRandom } from '../../../../src/node/index.ts'

const owner = { tenantId: 'ten_1', moduleId: 'x' }

/** A server on loopback that must not be called, and callers for which every name resolves to it. */
async function aPrivateServer(
  allow: readonly string[] = [],
  answer: (path: string) => readonly [number, Record<string, string>] = () => [200, {}],
) {
  const got: string[] = []
  const server = createServer((request, response) => {
    got.push(`${request.headers.host} ${request.url}`)
    response.writeHead(...(answer(request.url ?? '') as [number, Record<string, string>])).end()
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.address() as AddressInfo
  const resolve = ((_: string, __: unknown, done: (error: null, found: object[]) => void) =>
    done(null, [{ address: '127.0.0.1', family: 4 }])) as never as typeof lookup
  const rules = egressRules(allow, resolve)
  const connections = openConnections(rules)
  const deliver = openServiceCalls(connections)
  const proxy = openProxy(connections, 2000)
  const front = createServer((request, response) => {
    const url = `${request.headers['x-to']}/api`
    const proxied = { request, response, ...owner, url, headers: {}, signal: new AbortController().signal }
    proxy(proxied).catch((error) => response.writeHead(error.status).end(error.message))
  })
  await new Promise<void>((ready) => front.listen(0, '127.0.0.1', ready))
  onTestFinished(() => {
    connections.close()
    for (const one of [server, front]) {
      one.closeAllConnections()
      one.close()
    }
  })
  const call = (upstream: string) =>
    deliver({ upstream, ...owner, secret: newSecret(systemRandom), id: 'msg_1', body: '{}', at: new Date(0), timeoutMs: 2000 })
  const get = async (upstream: string) => {
    const { port: to } = front.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${to}/`, { headers: { 'x-to': upstream } })
    return `${response.status} ${await response.text()}`
  }
  return { got, port, call, get }
}

test.each(['service.example', '169.254.169.254', '2852039166', '[::ffff:127.0.0.1]', '10.1', 'localhost.'])(
  'neither a message nor a request goes to http://%s',
  async (host) => {
    const { got, port, call, get } = await aPrivateServer()
    const shown = new URL(`http://${host}`).hostname
    const reason = expect.stringContaining(`${shown} has no public address, and the setting egress.allow`)
    expect(await call(`http://${host}:${port}`)).toEqual({ ok: false, failure: { status: null, reason } })
    expect(await get(`http://${host}:${port}`)).toEqual(expect.stringMatching(/^502 .* egress\.allow/))
    expect(got).toEqual([])
  },
)

test('a network of the setting is called, at the port of the address', async () => {
  const { got, port, call, get } = await aPrivateServer(['127.0.0.0/8'])
  expect(await call(`http://service.example:${port}`)).toEqual({ ok: true, body: '' })
  expect(await get(`http://service.example:${port}`)).toBe('200 ')
  expect(got).toEqual([`service.example:${port} /webhook`, `service.example:${port} /api`])
  expect(await call('http://service.example:1')).toMatchObject({ ok: false, failure: { status: null } })
})

test.each([301, 302, 303, 307, 308])('a redirect %i is not followed', async (status) => {
  const { got, port, call, get } = await aPrivateServer(['127.0.0.0/8'], () => [status, { location: '/elsewhere' }])
  expect(await call(`http://service.example:${port}`)).toMatchObject({ ok: false, failure: { status } })
  expect(await get(`http://service.example:${port}`)).toMatch(/^502 .*redirect/)
  expect(got.map((line) => line.split(' ')[1])).toEqual(['/webhook', '/api'])
})
