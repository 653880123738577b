import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { bucketStore } from '../../../src/daemon/objects/bucket-store.ts'
import { guardedStore } from '../../../src/daemon/objects/guarded-store.ts'
import { guardSuite } from './object-store-suite.ts'

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
  return bucketStore(`${await listening(server)}/files`, account)
}

const account = { accessKeyId: 'key', secretAccessKey: 'secret' }

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Buckets in memory, for objects of one part; a bucket exists once it is named. */
async function someBuckets() {
  const objects = new Map<string, Buffer>()
  let reads = 0
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://bucket')
    const key = decodeURIComponent(pathname)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (searchParams.has('uploads')) return void response.end('<ListMultipartUploadsResult></ListMultipartUploadsResult>')
    if (searchParams.has('list-type')) {
      reads += 1
      const bucket = `${key.replace(/\/$/, '')}/`
      const keys = [...objects.keys()].filter((one) => one.startsWith(bucket)).map((one) => one.slice(bucket.length))
      const found = keys
        .filter((one) => one.startsWith(searchParams.get('prefix') ?? ''))
        .sort()
        .slice(0, Number(searchParams.get('max-keys') ?? 1000))
      const contents = found.map((one) => `<Contents><Key>${one}</Key></Contents>`).join('')
      return void response.end(`<ListBucketResult>${contents}</ListBucketResult>`)
    }
    if (request.method === 'HEAD' && /^\/[^/]+\/./.test(key)) {
      reads += 1
      return void response.writeHead(objects.has(key) ? 200 : 404).end()
    }
    if (request.method === 'PUT') objects.set(key, Buffer.concat(chunks))
    if (request.method === 'DELETE') objects.delete(key)
    if (request.method !== 'GET') return void response.end()
    if (objects.has(key)) return void response.end(objects.get(key))
    response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
  })
  const origin = await listening(server)
  return { objects, reads: () => reads, at: (path: string) => bucketStore(`${origin}/${path}`, account) }
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

describe('objects of a bucket that the database names', () => {
  guardSuite(async () => {
    const { at, objects } = await someBuckets()
    const leftInAnother = async () => [...objects.keys()].filter((key) => key.startsWith('/another/'))
    return { store: at('files/kept'), another: at('another/kept'), leftInAnother }
  })

  /** A guarded store of the bucket `files`, whose database names these objects. */
  async function named(...keys: string[]) {
    const buckets = await someBuckets()
    const clock = manualClock()
    return { ...buckets, clock, store: guardedStore(buckets.at('files/kept'), { someObjects: async () => keys, clock }) }
  }

  test('those of other prefixes, of other installations, and what a killed check left, are none', async () => {
    const { store, objects } = await named('files/ten_1/one')
    const others = [
      'files/ten_1/one',
      'kept_too/files/ten_1/one',
      'kept/tenantry_look',
      'kept/files/ten_2/one',
      'kept/files/ten_2/.tenantry',
    ]
    for (const key of others) objects.set(`/files/${key}`, Buffer.from('x'))
    await expect(store.remove('files/ten_1/one')).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
    objects.set('/files/kept/files/ten_1/one', Buffer.from('x'))
    await store.remove('files/ten_1/one')
  })

  test('are looked for once a minute, however many are missing, and unavailable once the bucket was emptied', async () => {
    const { store, objects, reads, clock } = await named('files/ten_1/one')
    objects.set('/files/kept/files/ten_1/one', Buffer.from('x'))
    const missing = Array.from({ length: 20 }, (_, n) => `files/ten_1/none_${n}`)
    expect(await Promise.all(missing.map((key) => store.get(key)))).toEqual(missing.map(() => undefined))
    expect(await Promise.all(missing.map((key) => store.remove(key)))).toEqual(missing.map(() => undefined))
    expect(reads()).toBe(1)
    objects.clear()
    await clock.advance(60_000)
    await expect(store.get('files/ten_1/one')).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
    await expect(store.remove('files/ten_1/one')).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
  })

  test('that are lost for good are abandoned by putting the object that the error names', async () => {
    const { store, objects } = await named('files/ten_1/one')
    const { cause } = await store.look().catch((error) => error)
    objects.set(new URL(/ (http\S+)$/.exec(cause.message)?.[1] ?? '').pathname, Buffer.alloc(0))
    await store.look()
  })
})
