import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { bucketStore } from '../../../src/daemon/objects/bucket-store.ts'

/** Answers as a bucket whose objects come without an end, to an account that may do all but what is forbidden. */
async function aSlowBucket(forbidden?: RegExp) {
  const server = createServer((request, response) => {
    const asked = `${request.method} ${request.url}`
    if (forbidden?.test(asked)) return void response.writeHead(403).end()
    if (/[?&]uploads/.test(asked)) return void response.end('<ListMultipartUploadsResult></ListMultipartUploadsResult>')
    if (request.method !== 'GET') return void response.end()
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

test.each([/^HEAD/, /^PUT/, /^DELETE/, /[?&]uploads/])(
  'an account that may not %s is told of before the first file comes',
  async (forbidden) => {
    await expect((await aSlowBucket(forbidden)).look()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
  },
)
