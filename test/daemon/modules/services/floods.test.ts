import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openServiceCalls } from '../../../../src/daemon/modules/services/call-service.ts'
import { openConnections } from '../../../../src/daemon/modules/services/connections.ts'
import { openProxy } from '../../../../src/daemon/modules/services/proxy-request.ts'
import { egressRules } from '../../../../src/node/index.ts'
import { aRawService } from '../../../support/raw-service.ts'

// A service that sends far more than it costs it, so that the process that reads it has no time for others.

/** Writes as fast as it is read, until the connection ends; counts what it wrote. */
async function flood(socket: Socket, part: string, sent: { bytes: number }): Promise<void> {
  const some = part.repeat(1000)
  while (!socket.destroyed && sent.bytes < maxFloodBytes) {
    sent.bytes += some.length
    if (!socket.write(some)) await new Promise((done) => socket.once('drain', done).once('close', done))
  }
}
/** Far more than is on its way when the connection ends; less than an answer may have. */
const maxFloodBytes = 5_000_000

const floods = {
  'chunks of one byte': (socket: Socket, sent: { bytes: number }) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
    return flood(socket, '1\r\na\r\n', sent)
  },
  'interim answers': (socket: Socket, sent: { bytes: number }) => flood(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', sent),
}

async function aFront(url: string) {
  const connections = openConnections(egressRules())
  const proxy = openProxy(connections, 10_000)
  const front = createServer((request, response) => {
    const of = { request, response, moduleId: 'attendance', tenantId: 'ten_1', url: `${url}/api`, headers: {} }
    proxy({ ...of, signal: new AbortController().signal }).catch((error) => response.writeHead(error.status ?? 500).end())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    connections.close()
    front.closeAllConnections()
    front.close()
  })
  await new Promise((ready) => front.once('listening', ready))
  return { connections, port: (front.address() as AddressInfo).port }
}

test.each(Object.entries(floods))('%s without an end are cut off, of a message and of a request', async (_, begin) => {
  const sent = { bytes: 0 }
  const service = await aRawService({ answer: (__, socket) => void begin(socket, sent) })
  const { connections, port } = await aFront(service.url)
  const called = await openServiceCalls(connections)({
    ...{ upstream: service.url, tenantId: 'ten_1', moduleId: 'attendance', id: 'msg_1', body: '{}', at: new Date(0), timeoutMs: 10_000 },
    secret: `whsec_${Buffer.alloc(32).toString('base64')}`,
  })
  expect(called.ok).toBe(false)
  expect(sent.bytes).toBeLessThan(maxFloodBytes)
  sent.bytes = 0
  await fetch(`http://127.0.0.1:${port}/`)
    .then((answer) => answer.text())
    .catch(() => 'cut off')
  expect(sent.bytes).toBeLessThan(maxFloodBytes)
})

test('a body of a user in chunks of one byte is refused', async () => {
  const service = await aRawService()
  const { port } = await aFront(service.url)
  const [sent, socket] = [{ bytes: 0 }, connect(port, '127.0.0.1')]
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
  const answer = new Promise<string>((done) => socket.setEncoding('latin1').once('data', done))
  void flood(socket, '1\r\na\r\n', sent).then(() => socket.write('0\r\n\r\n'))
  expect(await answer).toMatch(/^HTTP\/1.1 400 /)
})
