import { connect } from 'node:net'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { boundOf, endpoint, file, makeClient, open } from '../../../src/core/contract/index.ts'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import { type FileBody, serve } from '../../../src/daemon/http/index.ts'
import { byteRange, disposition, paceCheck } from '../../../src/daemon/http/send-file.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { servedApp } from '../../support/served-app.ts'

const contract = { load: endpoint({ method: 'GET', path: '/it', auth: open, returns: file, summary: 'A file' }) }
const content = Buffer.from('0123456789')

async function* cut(from: number, to: number) {
  for (let at = from; at <= to; at += 3) yield content.subarray(at, Math.min(at + 3, to + 1))
}

async function started(change: Partial<FileBody> = {}, log = silentLogger()) {
  const body: FileBody = {
    ...{ fileName: 'a.txt', contentType: 'application/octet-stream', inline: false, bytes: 10, etag: '"one"' },
    open: async ({ from, to } = { from: 0, to: 9 }) => cut(from, to),
    ...change,
  }
  const { url, port, server } = await servedApp([serve(contract.load, () => body)], { authenticate: {}, clock: manualClock(), log })
  const get = async (headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(`${url}/it`, { method, headers: { connection: 'close', ...headers } })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  /** A client that asks, and a promise of its end on this side. */
  const leaving = () => {
    const gone = new Promise<void>((resolve) => server.once('connection', (socket) => socket.once('close', () => resolve())))
    const client = connect(port, '127.0.0.1')
    client.write(`GET /it HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
    return { client, gone }
  }
  return { get, url, leaving }
}

test('a file comes whole, saved and never shown, and its bytes are no page of ours', async () => {
  const { status, headers, text } = await (await started()).get()
  expect([status, text]).toEqual([200, '0123456789'])
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-length': '10',
    'content-disposition': `attachment; filename="a.txt"; filename*=UTF-8''a.txt`,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-cache',
    etag: '"one"',
  })
})

test('whoever has it is told so', async () => {
  const { get } = await started()
  expect((await get({ 'if-none-match': '"two", W/"one"' })).status).toBe(304)
  expect((await get({ 'if-none-match': '"two"' })).status).toBe(200)
})

test.each([
  ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
  ['bytes=7-', 206, '789', 'bytes 7-9/10'],
  ['bytes=7-99', 206, '789', 'bytes 7-9/10'],
  ['bytes=-2', 206, '89', 'bytes 8-9/10'],
  ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
  ['bytes=0-1,4-5', 200, '0123456789', null],
  ['bytes=4-2', 200, '0123456789', null],
  ['lines=1-2', 200, '0123456789', null],
])('%s answers %i', async (range, status, text, contentRange) => {
  const answer = await (await started()).get({ range })
  expect([answer.status, answer.text, answer.headers.get('content-range')]).toEqual([status, text, contentRange])
})

test('a part behind the end is refused, and a part of an older file is the whole of the new', async () => {
  const { get } = await started()
  const behind = await get({ range: 'bytes=10-' })
  expect([behind.status, JSON.parse(behind.text).code, behind.headers.get('content-range')]).toEqual([
    416,
    'RANGE_NOT_SATISFIABLE',
    'bytes */10',
  ])
  expect((await get({ range: 'bytes=2-4', 'if-range': '"old"' })).status).toBe(200)
  expect((await get({ range: 'bytes=2-4', 'if-range': '"one"' })).status).toBe(206)
})

test('HEAD opens nothing', async () => {
  const { get } = await started({ open: () => Promise.reject(new Error('not to be opened')) })
  const { status, headers, text } = await get({}, 'HEAD')
  expect([status, headers.get('content-length'), text]).toEqual([200, '10', ''])
})

test('a file that cannot be opened is a problem and no half of a file', async () => {
  const { get } = await started({ open: () => Promise.reject(problem('OBJECT_STORE_UNAVAILABLE', 'try again')) })
  const { status, headers, text } = await get()
  expect([status, JSON.parse(text).code, headers.get('content-disposition')]).toEqual([503, 'OBJECT_STORE_UNAVAILABLE', null])
})

test('a file that breaks off is never whole for the client', async () => {
  async function* broken() {
    yield content.subarray(0, 4)
    throw new Error('the disk went')
  }
  const { get } = await started({ open: async () => broken() })
  await expect(get()).rejects.toThrow()
})

test.each([
  ['shorter', content.subarray(0, 5), 'the stored object ended after 5 of 10 bytes'],
  ['longer', Buffer.concat([content, content]), 'the stored object is longer than the 10 bytes of its file'],
])('an object that is %s than its file breaks the connection, and the log says so', async (_, stored, message) => {
  const log = silentLogger()
  const failed = vi.spyOn(log, 'error')
  const { get } = await started({ open: async () => Readable.from([stored]) }, log)
  await expect(get()).rejects.toThrow()
  await expect.poll(() => failed.mock.calls).toMatchObject([[{ err: { message } }, 'request failed']])
})

test('downloads leave connections of the bucket to uploads, and those of a tenant leave them to others', () => {
  const { perTenant = 1000, parallel = 1000 } = boundOf(contract.load)
  expect(parallel).toBeLessThan(1000)
  expect(perTenant).toBeLessThan(parallel / 4)
})

test('a download reads a megabyte in five minutes, on average', () => {
  let sent = 0
  const check = paceCheck(60_000, () => sent)
  for (let minute = 0; minute < 60; minute += 1) {
    sent += 300_000
    check()
  }
  for (let minute = 0; minute < 4; minute += 1) check()
  expect(check).toThrow('does not read')
})

test('what was opened is let go of when the client left meanwhile', async () => {
  const content = new Readable({ read: () => undefined })
  let opens: () => void = () => undefined
  const opening = new Promise<void>((resolve) => {
    opens = resolve
  })
  const { leaving } = await started({
    open: async () => {
      opens()
      await gone
      return content
    },
  })
  const { client, gone } = leaving()
  await opening
  client.destroy()
  await expect.poll(() => content.destroyed).toBe(true)
})

test('what was opened is let go of when the client leaves while nothing comes', async () => {
  const content = new Readable({ read: () => undefined })
  content.push('0123')
  const { leaving } = await started({ open: async () => content })
  const { client } = leaving()
  await new Promise((resolve) => client.once('data', resolve))
  client.destroy()
  await expect.poll(() => content.destroyed).toBe(true)
})

test('the typed client streams it', async () => {
  const { url } = await started()
  const stream = await makeClient(contract, { baseUrl: url, headers: () => ({ connection: 'close' }) }).load()
  expect(await new Response(stream).text()).toBe('0123456789')
})

test('no name breaks out of the header, and new programs read it as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (name) => {
      const header = disposition('attachment', name)
      const [, plain, encoded] = /^attachment; filename="([ !#-[\]-~]*)"; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]*)$/.exec(header) ?? []
      expect(plain).toBeDefined()
      expect(decodeURIComponent(encoded ?? '')).toBe(Buffer.from(name).toString())
    }),
  )
})

test('a part that is given lies within the file', () => {
  const number = fc.oneof(fc.constant(''), fc.nat({ max: 30 }).map(String))
  fc.assert(
    fc.property(number, number, fc.nat({ max: 20 }), (first, last, bytes) => {
      try {
        const range = byteRange(`bytes=${first}-${last}`, bytes)
        if (range) expect(0 <= range.from && range.from <= range.to && range.to < bytes).toBe(true)
      } catch (error) {
        expect(error).toMatchObject({ code: 'RANGE_NOT_SATISFIABLE' })
      }
    }),
  )
})
