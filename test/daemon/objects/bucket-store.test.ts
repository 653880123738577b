import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { bucketStore } from '../../../src/daemon/objects/bucket-store.ts'

/** Answers as a bucket whose objects come without an end. */
async function aSlowBucket() {
  const server = createServer((request, response) => {
    if (request.method === 'HEAD') return void response.end()
    response.writeHead(200, { 'content-length': '1000' })
    response.write('begin')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return bucketStore(`http://127.0.0.1:${port}/files`, { accessKeyId: 'key', secretAccessKey: 'secret' })
}

test('many who read slowly leave a way to the bucket for the rest', async () => {
  const store = await aSlowBucket()
  const slow = await Promise.all(Array.from({ length: 120 }, (_, n) => store.get(`files/ten_1/fil_${n}`)))
  expect(slow.every((content) => content !== undefined)).toBe(true)
  await store.look()
  for (const content of slow) (content as { destroy?: () => void } | undefined)?.destroy?.()
})
