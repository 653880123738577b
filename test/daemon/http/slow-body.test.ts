import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { admin, empty, endpoint, open } from '../../../src/core/contract/index.ts'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import { serve } from '../../../src/daemon/http/index.ts'
import { servedApp } from '../../support/served-app.ts'

const body = z.strictObject({ text: z.string() })
const multipart = { part: 'file', maxBytes: 1000, fields: z.strictObject({}) }
const contract = {
  open: endpoint({ method: 'POST', path: '/open', auth: open, body, returns: empty, summary: 'Takes a text' }),
  guarded: endpoint({ method: 'POST', path: '/guarded', auth: admin('viewer'), body, returns: empty, summary: 'Takes a text' }),
  upload: endpoint({ method: 'POST', path: '/upload', auth: admin('viewer'), multipart, returns: empty, summary: 'Takes a file' }),
  import: endpoint({ method: 'POST', path: '/import', auth: admin('viewer'), body, bodyLimit: 5e6, returns: empty, summary: 'Takes much' }),
}

async function started(maxBodyMs = 100) {
  const served = [
    serve(contract.open, () => undefined),
    serve(contract.guarded, () => undefined),
    serve(contract.upload, async ({ upload }) => void (await upload.receive(async () => undefined))),
    serve(contract.import, () => undefined),
  ]
  const authenticate = {
    admin: async (authorization: string | undefined) => {
      if (authorization !== 'Bearer good') throw problem('UNAUTHENTICATED', 'log in first')
      return { kind: 'admin', accountId: 'a1', name: 'anna', role: 'viewer', sessionId: 's1' } as const
    },
  }
  const { port } = await servedApp(served, { authenticate, clock: manualClock(), maxBodyMs })
  /** Sends all of a request but the end of its body. */
  const drip = (path: string, headers: Record<string, string> = {}) => {
    const socket = connect(port, '127.0.0.1')
    const said = { host: 'daemon', 'content-type': 'application/json', 'content-length': '50', ...headers }
    const lines = Object.entries(said)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${headers['transfer-encoding'] ? '8\r\n' : ''}{"text":`)
    const closed = once(socket, 'close')
    return { socket, answer: text(socket).catch(() => ''), closed }
  }
  return { drip }
}

const form = { 'content-type': 'multipart/form-data; boundary=b' }
const good = { authorization: 'Bearer good' }

test.each([
  ['of an endpoint for everyone', '/open', {}, 503],
  ['in chunks', '/open', { 'content-length': '', 'transfer-encoding': 'chunked' }, 503],
  ['of a caller with a session', '/guarded', good, 503],
  ['of a caller without a session', '/guarded', {}, 401],
  ['of an upload without a session', '/upload', form, 401],
  ['to a path that does not exist', '/nothing', {}, 404],
])('the connection of a slow body %s is closed', async (_, path, headers, status) => {
  const { drip } = await started()
  const { answer, closed } = drip(path, headers)
  await closed
  expect(await answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('a late body is answered with a problem', async () => {
  const { drip } = await started()
  const { answer } = drip('/open')
  expect(await answer).toMatch(/"code":"UNAVAILABLE","message":"The request body did not arrive within 0.1 s."/)
})

test.each([
  ['an upload', '/upload', { ...form, ...good }],
  ['a large import', '/import', good],
])('the body of %s by a known caller may take longer', async (_, path, headers) => {
  const { drip } = await started()
  const slow = drip(path, headers)
  let isClosed = false
  void slow.closed.then(() => {
    isClosed = true
  })
  await drip('/open').closed // began later
  expect(isClosed).toBe(false)
  slow.socket.destroy()
})
