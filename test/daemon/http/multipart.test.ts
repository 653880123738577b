import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { endpoint, makeClient, open, openApiDocument } from '../../../src/core/contract/index.ts'
import { isProblem, problem } from '../../../src/core/kit/index.ts'
import { type FilePart, serve } from '../../../src/daemon/http/index.ts'
import { aSmallApp } from '../../support/small-app.ts'

const megabyte = 1024 * 1024
const contract = {
  send: endpoint({
    method: 'POST',
    path: '/send',
    auth: open,
    multipart: {
      part: 'artifact',
      maxBytes: megabyte,
      fields: z.strictObject({ label: z.string().max(20).optional() }),
      fieldBytes: 100,
    },
    returns: z.object({ name: z.string(), type: z.string(), bytes: z.int(), label: z.string().nullable() }),
    status: 201,
    problems: ['CONFLICT'],
    summary: 'Takes a file',
  }),
}

async function sizeOf({ content }: FilePart): Promise<number> {
  let bytes = 0
  for await (const chunk of content) bytes += chunk.length
  return bytes
}

async function started(take: (part: FilePart) => Promise<number> = sizeOf) {
  const known: { parts: FilePart[]; room: { least: number; most: number }[]; over: unknown[] } = { parts: [], room: [], over: [] }
  const app = await aSmallApp([
    serve(contract.send, async ({ upload }) => {
      known.room.push(upload.bytes)
      const received = upload.receive(async (part) => {
        known.parts.push(part)
        return take(part)
      })
      received.then(
        (taken) => known.over.push(taken),
        (error) => known.over.push(error),
      )
      const { taken, fields } = await received
      const { fileName, contentType } = known.parts.at(-1) as FilePart
      return { name: fileName, type: contentType, bytes: taken, label: fields.label ?? null }
    }),
  ])
  const client = makeClient(contract, { baseUrl: app.url, headers: () => ({ connection: 'close' }) })
  const post = async (body: FormData | string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${app.url}/send`, { method: 'POST', body, headers: { connection: 'close', ...headers } })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  return { ...known, ...app, known, client, post }
}

const form = (...parts: [string, string | Blob, string?][]) => {
  const made = new FormData()
  for (const [name, value, fileName] of parts) {
    if (typeof value === 'string') made.append(name, value)
    else made.append(name, value, fileName)
  }
  return made
}
const bytes = (count: number) => new Blob([new Uint8Array(count)], { type: 'image/png' })

/** A form with one file, whose part has this disposition, byte by byte. */
const rawForm = (parameters: Buffer) =>
  Buffer.concat([
    Buffer.from('--cut\r\ncontent-disposition: form-data; name="artifact"; '),
    parameters,
    Buffer.from('\r\ncontent-type: image/png\r\n\r\nhello\r\n--cut--\r\n'),
  ])

test.each<[string, Buffer | string, string]>([
  ['UTF-8 bytes of a browser', 'filename="Übung 🦆.png"', 'Übung 🦆.png'],
  ['escaped quotes of a browser', 'filename="a%22b.png"', 'a"b.png'],
  ['quoted pairs', 'filename="a\\"b\\\\c.png"', 'a"b\\c.png'],
  ['a token without quotes', 'filename=plan.png', 'plan.png'],
  ['RFC 8187', "filename*=UTF-8''%C3%9Cbung%20%F0%9F%A6%86.png", 'Übung 🦆.png'],
  ['RFC 8187 beside a plain name', `filename="_bung.png"; filename*=utf-8'de'%C3%9Cbung.png`, 'Übung.png'],
  ['RFC 8187 in Latin-1', "filename*=ISO-8859-1''%DCbung.png", 'Übung.png'],
  ['Latin-1 bytes', Buffer.from('filename="Übung.png"', 'latin1'), 'Übung.png'],
  ['a path of Windows', 'filename="C:\\Users\\anna\\Plan.png"', 'C:\\Users\\anna\\Plan.png'],
])('a file name as %s arrives', async (_, parameters, name) => {
  const { url } = await started()
  const headers = { 'content-type': 'multipart/form-data; boundary=cut', connection: 'close' }
  const response = await fetch(`${url}/send`, { method: 'POST', headers, body: new Uint8Array(rawForm(Buffer.from(parameters))) })
  expect(await response.json()).toMatchObject({ name, bytes: 5 })
})

test.each([
  ['an unknown charset', "filename*=klingon''a.png"],
  ['a broken escape', "filename*=UTF-8''%G1.png"],
  ['no closing quote', 'filename="a.png'],
  ['an empty name', 'filename=""'],
])('a file name with %s is refused', async (_, parameters) => {
  const { post } = await started()
  const body = rawForm(Buffer.from(parameters)).toString('latin1')
  const { status, json } = await post(body, { 'content-type': 'multipart/form-data; boundary=cut' })
  expect([status, json.code]).toEqual([400, 'VALIDATION'])
  expect(json.message).toContain('with a valid file name')
})

test('curl sends a name with umlauts, quotes and backslashes', async () => {
  const { url } = await started()
  const send = 'artifact=@package.json;filename="Übung \\"4b\\" \\\\ 1.json"'
  const { stdout } = await execa('curl', ['--silent', '--show-error', '--form', send, `${url}/send`])
  expect(JSON.parse(stdout)).toMatchObject({ name: 'Übung "4b" \\ 1.json' })
})

test('the typed client sends a file with text parts, and its name arrives in any script', async () => {
  const { client } = await started()
  const upload = { content: bytes(300_000), fileName: 'Übung "4b" 🦆.png', fields: { label: 'ü' } }
  expect(await client.send({ upload })).toEqual({ name: upload.fileName, type: 'image/png', bytes: 300_000, label: 'ü' })
})

test('text parts may stand behind the file', async () => {
  const { post } = await started()
  const sent = await post(form(['artifact', bytes(5), 'a.png'], ['label', 'late']))
  expect([sent.status, sent.json.label]).toEqual([201, 'late'])
})

test.each([
  ['no file', form(['label', 'x']), 'VALIDATION'],
  ['the file as a text', form(['artifact', 'text']), 'VALIDATION'],
  ['a file under another name', form(['other', bytes(5), 'a']), 'VALIDATION'],
  ['two files', form(['artifact', bytes(5), 'a'], ['artifact', bytes(5), 'b']), 'VALIDATION'],
  ['an unknown text part', form(['artifact', bytes(5), 'a'], ['who', 'x']), 'VALIDATION'],
  ['a nested text part', form(['artifact', bytes(5), 'a'], ['label[x]', 'x']), 'VALIDATION'],
  ['a text part twice', form(['label', 'x'], ['label', 'y'], ['artifact', bytes(5), 'a']), 'VALIDATION'],
  ['a part named like a prototype', form(['__proto__', 'x'], ['artifact', bytes(5), 'a']), 'VALIDATION'],
  ['a text part that is too long', form(['label', 'x'.repeat(101)], ['artifact', bytes(5), 'a']), 'VALIDATION'],
  ['NUL in a text part', form(['label', 'a\u0000b'], ['artifact', bytes(5), 'a']), 'VALIDATION'],
  ['a file that is one byte too large', form(['artifact', bytes(megabyte + 1), 'a']), 'PAYLOAD_TOO_LARGE'],
  ['a file that is far too large', form(['artifact', bytes(5 * megabyte), 'a']), 'PAYLOAD_TOO_LARGE'],
])('%s is refused', async (_, body, code) => {
  const { post } = await started()
  expect((await post(body)).json.code).toBe(code)
})

test('a file of exactly the most that is taken is taken, whatever stands around it', async () => {
  const { post } = await started()
  expect((await post(form(['artifact', bytes(megabyte), 'a'], ['label', 'x']))).json.bytes).toBe(megabyte)
})

test.each([
  ['another type', '{"a":1}', 'application/json', 'UNSUPPORTED_MEDIA_TYPE'],
  ['no boundary', 'x', 'multipart/form-data', 'VALIDATION'],
  ['no form', 'x', 'multipart/form-data; boundary=b', 'VALIDATION'],
  [
    'a broken form',
    '--b\r\nContent-Disposition: form-data; name="artifact"; filename="a"\r\n\r\nhalf',
    'multipart/form-data; boundary=b',
    'VALIDATION',
  ],
  ['broken headers', '--b\r\nnonsense\r\n\r\nx\r\n--b--', 'multipart/form-data; boundary=b', 'VALIDATION'],
])('%s is refused', async (_, body, type, code) => {
  const { post } = await started()
  expect((await post(body, { 'content-type': type })).json.code).toBe(code)
})

test('what the verb says while it takes the file is the answer', async () => {
  const { post } = await started(() => Promise.reject(problem('CONFLICT', 'there is one already')))
  expect((await post(form(['artifact', bytes(megabyte), 'a']))).json.code).toBe('CONFLICT')
})

test('the verb knows beforehand what the file can have', async () => {
  const { post, room } = await started()
  await post(form(['artifact', bytes(900_000), 'a']))
  expect(room[0]?.most).toBeLessThan(901_000)
  expect(room[0]?.least).toBeGreaterThan(850_000)
})

const head = (port: number) =>
  `POST /send HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n`
const chunk = (text: string | Buffer) =>
  Buffer.concat([Buffer.from(`${text.length.toString(16)}\r\n`), Buffer.from(text), Buffer.from('\r\n')])
const opening = '--b\r\nContent-Disposition: form-data; name="artifact"; filename="a"\r\n\r\n'

test('a client sends no faster than the file is taken: only buffers of fixed size are in between', async () => {
  let read: () => void = () => undefined
  const reading = new Promise<void>((begin) => {
    read = begin
  })
  const { server, port, over } = await started(async (part) => {
    await reading
    return sizeOf(part)
  })
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = connect(port, '127.0.0.1')
  const [socket] = await accepted
  client.write(head(port))
  client.write(chunk(opening))
  for (let count = 0; count < 15; count += 1) client.write(chunk(Buffer.alloc(64_000)))
  // What the server has taken stands still at its buffers' size.
  let taken = -1
  while (socket.bytesRead !== taken || taken < 1000) {
    taken = socket.bytesRead
    await new Promise((later) => setTimeout(later, 100))
  }
  expect(taken).toBeLessThan(600_000)
  read()
  client.write(chunk('\r\n--b--\r\n'))
  client.end('0\r\n\r\n')
  await once(client, 'data')
  expect(over).toMatchObject([{ taken: 960_000 }])
})

test('a client that leaves in the middle ends the taking before the verb hears of it', async () => {
  let ended = false
  const { port, over, known } = await started(async (part) => {
    try {
      return await sizeOf(part)
    } finally {
      ended = true
    }
  })
  const client = connect(port, '127.0.0.1')
  client.write(head(port))
  client.write(chunk(opening))
  client.write(chunk(Buffer.alloc(1000)))
  await expect.poll(() => known.parts.length).toBe(1)
  client.destroy()
  await expect.poll(() => over.length).toBe(1)
  expect([ended, isProblem(over[0], 'VALIDATION')]).toEqual([true, true])
})

test('the document says what the form is', () => {
  const { paths } = openApiDocument({ room: contract }, { title: 'Test', version: '1' }) as { paths: Record<string, { post: unknown }> }
  expect(paths['/send']?.post).toMatchObject({
    requestBody: {
      content: {
        'multipart/form-data': {
          schema: {
            type: 'object',
            required: ['artifact'],
            properties: { artifact: { contentMediaType: 'application/octet-stream' }, label: { type: 'string' } },
          },
        },
      },
    },
    responses: { 413: {}, 415: {} },
  })
})

test('parts without a name count as parts: each costs as much as a field', async () => {
  const { post } = await started()
  const named = '--b\r\ncontent-disposition: form-data; name="artifact"; filename="a"\r\n\r\nx\r\n'
  const body = (count: number) => `${'--b\r\nx: y\r\n\r\n\r\n'.repeat(count)}${named}--b--\r\n`
  const type = { 'content-type': 'multipart/form-data; boundary=b' }
  expect((await post(body(20), type)).status).toBe(201)
  expect(await post(body(21), type)).toMatchObject({ status: 400, json: { code: 'VALIDATION' } })
})

test('a form in chunks whose text beside its parts has no end is cut off', async () => {
  const { port } = await started()
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write('POST /send HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\ntransfer-encoding: chunked\r\n\r\n')
  const [answer, closed] = [once(socket, 'data'), once(socket, 'close')]
  const text = `10000\r\n${'a'.repeat(65_536)}\r\n`
  for (let n = 0; n < 20 && !socket.destroyed; n++) socket.write(text)
  expect(String(await answer)).toMatch(/^HTTP\/1.1 413 /)
  await closed
})
