import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { capConnections, sharedAddresses } from '../../../src/daemon/http/index.ts'

async function aServer(isShared: boolean) {
  const server = createServer((_, response) => response.end('ok'))
  capConnections(server, { maxPerNetwork: 2, isShared: () => isShared })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  /** A connection, and whether the server answers over it. */
  return async () => {
    const socket = connect({ host: '127.0.0.1', port })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const answered = await Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)])
    return { socket, answered }
  }
}

test('a network with its share of connections open gets no further one until one ends', async () => {
  const open = await aServer(false)
  const first = await open()
  await open()
  expect((await open()).answered).toBe(false)
  first.socket.destroy()
  await expect.poll(async () => (await open()).answered).toBe(true)
})

test('an address that many callers share is not limited', async () => {
  const open = await aServer(true)
  for (let n = 0; n < 4; n++) expect((await open()).answered).toBe(true)
})

test.each([
  ['127.0.0.1', true],
  ['::ffff:127.0.0.1', true],
  ['::1', true],
  ['10.0.0.7', true],
  ['10.0.1.7', false],
  ['::ffff:203.0.113.1', false],
  ['2001:db8::1', false],
])('%s is shared: %s', (address, isShared) => {
  expect(sharedAddresses(['10.0.0.0/24'])(address)).toBe(isShared)
})
