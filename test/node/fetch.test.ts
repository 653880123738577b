import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { settlingFetch } from '../../src/node/index.ts'

// A peer that closes every connection as soon as it is made, as the proxy of a container does before its program listens.
const closes = createServer((socket) => {
  socket.on('error', () => undefined)
  socket.destroy()
})
let url: string

beforeAll(async () => {
  await new Promise<void>((done) => closes.listen(0, '127.0.0.1', done))
  const address = closes.address()
  url = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}/`
})
afterAll(() => closes.close())

test('a peer that closes at once is a failure and not for ever', async () => {
  await expect(settlingFetch(url)).rejects.toThrow('fetch failed')
})
