import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { empty, endpoint, open, raw } from '../../../src/core/contract/index.ts'
import { maxChunks } from '../../../src/core/kit/index.ts'
import { serve } from '../../../src/daemon/http/index.ts'
import { aSmallApp } from '../../support/small-app.ts'

const body = z.strictObject({ text: z.string() })
const multipart = { part: 'file', maxBytes: 1e6, fields: z.strictObject({}) }
const shared = { method: 'POST', auth: open, returns: empty, audit: { none: 'a test' } } as const
const contract = {
  json: endpoint({ ...shared, path: '/json', body, summary: 'Takes a text' }),
  upload: endpoint({ ...shared, path: '/upload', multipart, summary: 'Takes a file' }),
  raw: endpoint({ ...shared, path: '/raw', returns: raw, summary: 'Takes what comes' }),
  unread: endpoint({ ...shared, path: '/unread', summary: 'Takes nothing' }),
}

async function started() {
  const drained = async (content: AsyncIterable<Uint8Array>) => {
    for await (const _ of content);
  }
  const { port } = await aSmallApp([
    serve(contract.json, () => undefined),
    serve(contract.upload, async ({ upload }) => void (await upload.receive(({ content }) => drained(content)))),
    serve(contract.raw, async ({ raw: { readBody } }) => ({ status: 200, headers: {}, body: await readBody(1e6) })),
    serve(contract.unread, () => undefined),
  ])
  /** Sends a body in chunks of one byte after its first one. Resolves with the answer once the connection is closed, or the answer has come. */
  const send = async (path: string, { begin, chunks, end, type = 'application/json' }: Sent) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    const head = ['host: daemon', `content-type: ${type}`, 'transfer-encoding: chunked', 'connection: close']
    socket.write(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${chunk(begin)}`)
    const answer = text(socket).catch(() => '')
    socket.write(chunk('a').repeat(chunks))
    if (end !== undefined) socket.write(`${chunk(end)}0\r\n\r\n`)
    await once(socket, 'close')
    return (await answer).split('\r\n')[0]
  }
  return { send }
}

type Sent = Readonly<{ begin: string; chunks: number; end?: string; type?: string }>

const chunk = (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`
const form = {
  type: 'multipart/form-data; boundary=b',
  begin: '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n',
  end: '\r\n--b--\r\n',
}
const json = { begin: '{"text":"', end: '"}' }

test.each([
  ['/json', json, '204 No Content'],
  ['/upload', form, '204 No Content'],
  ['/raw', json, '200 OK'],
  ['/unread', json, '204 No Content'],
])('POST %s takes a body in as many chunks as a slow line makes', async (path, content, status) => {
  const { send } = await started()
  expect(await send(path, { ...content, chunks: maxChunks(0) - 10 })).toBe(`HTTP/1.1 ${status}`)
})

/** Each chunk is an object in the memory of the daemon: a megabyte of them took 160 MB. */
test.each([
  ['/json', json],
  ['/upload', form],
  ['/raw', json],
])('POST %s refuses a body in more chunks, and closes the connection before its end', async (path, { end: _, ...content }) => {
  const { send } = await started()
  expect(await send(path, { ...content, chunks: maxChunks(0) + 1000 })).toBe('HTTP/1.1 400 Bad Request')
})
