import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, test } from 'vitest'
import { maxFileBytes } from '../../../src/core/files/index.ts'
import type { PlatformPrincipal } from '../../../src/core/kit/index.ts'
import { filesRoutes } from '../../../src/daemon/files/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aFilesWorld } from '../../support/files-world.ts'
import { aSmallApp } from '../../support/small-app.ts'

/** A space of anna over HTTP, with a non-member. */
async function served() {
  const room = await aFilesWorld((await emptyDatabase('sqlite')).db, 200 * 1024 * 1024)
  const [anna, eve] = [await room.aUser('anna'), await room.aUser('eve')]
  const users: Record<string, PlatformPrincipal> = { anna, eve }
  const { id: spaceId } = await room.aSpace(anna)
  const { url } = await aSmallApp(filesRoutes(room), users)
  const ask = (user: string, method: string, path: string, body?: FormData | string, headers: Record<string, string> = {}) =>
    fetch(`${url}/api/platform/v1/spaces/${spaceId}/files${path}`, {
      method,
      headers: { authorization: `Bearer ${user}`, connection: 'close', ...headers },
      ...(body === undefined ? {} : { body }),
    })
  /** An upload of which the first half is sent; `finish` sends the rest. */
  const half = () => {
    const headers = { authorization: 'Bearer anna', connection: 'close', 'content-type': 'multipart/form-data; boundary=b' }
    const sending = request(`${url}/api/platform/v1/spaces/${spaceId}/files`, { method: 'POST', headers })
    sending.on('error', () => undefined) // those that are never finished end with the test
    sending.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhalf')
    const finish = async () => {
      sending.end('\r\n--b--\r\n')
      const [{ statusCode }] = (await once(sending, 'response')) as [IncomingMessage]
      return statusCode
    }
    return { finish, leave: () => sending.destroy() }
  }
  return { ...room, ask, half, users, spaceId }
}

function form(content: Uint8Array<ArrayBuffer> | string, fileName: string, fields: Record<string, string> = {}) {
  const made = new FormData()
  made.append('file', new Blob([content], { type: 'text/html' }), fileName)
  for (const [name, value] of Object.entries(fields)) made.append(name, value)
  return made
}

test('upload, read, rename and delete a file over HTTP', async () => {
  const { ask, kept } = await served()
  const { id: folderId } = (await (
    await ask('anna', 'POST', '/folders', '{"name":"Plans"}', { 'content-type': 'application/json' })
  ).json()) as { id: string }
  const made = await ask('anna', 'POST', '', form('<script>', 'Übung "1".html', { folderId }))
  const file = (await made.json()) as { id: string; name: string }
  expect([made.status, file.name]).toEqual([201, 'Übung "1".html'])
  const one = `/${file.id}`
  expect(await (await ask('anna', 'GET', `?folderId=${folderId}`)).json()).toMatchObject({ files: [{ id: file.id }], nextCursor: null })
  const loaded = await ask('anna', 'GET', `${one}/content`)
  expect(Object.fromEntries(loaded.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="_bung _1_.html"; filename*=UTF-8''%C3%9Cbung%20%221%22.html`,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  })
  expect(await loaded.text()).toBe('<script>')
  const again = await ask('anna', 'GET', `${one}/content`, undefined, { 'if-none-match': loaded.headers.get('etag') ?? '' })
  expect(again.status).toBe(304)
  const part = await ask('anna', 'GET', `${one}/content`, undefined, { range: 'bytes=1-6' })
  expect([part.status, await part.text()]).toEqual([206, 'script'])
  const change = { 'content-type': 'application/json' }
  expect(await (await ask('anna', 'PATCH', one, '{"name":" b ","folderId":null}', change)).json()).toMatchObject({
    name: 'b',
    folderId: null,
  })
  expect((await ask('anna', 'DELETE', one)).status).toBe(204)
  expect((await ask('anna', 'GET', `${one}/content`)).status).toBe(404)
  expect(await (await ask('anna', 'POST', `${one}/restore`)).json()).toMatchObject({ deletedAt: null })
  expect((await ask('anna', 'DELETE', `${one}?forGood=true`)).status).toBe(204)
  expect([(await ask('anna', 'GET', one)).status, await kept()]).toEqual([404, []])
})

test('a non-member gets 404 for every request', async () => {
  const { ask } = await served()
  const { id } = (await (await ask('anna', 'POST', '', form('x', 'a'))).json()) as { id: string }
  const asked = await Promise.all([
    ask('eve', 'POST', '', form('x', 'a')),
    ask('eve', 'GET', ''),
    ask('eve', 'GET', `/${id}/content`),
    ask('eve', 'DELETE', `/${id}?forGood=true`),
  ])
  expect(asked.map(({ status }) => status)).toEqual([404, 404, 404, 404])
})

test('a file above 50 MB is refused with its code; exactly 50 MB is accepted', async () => {
  const { ask, kept, usage } = await served()
  const whole = new Uint8Array(maxFileBytes + 1)
  const refused = await ask('anna', 'POST', '', form(whole, 'a'))
  expect([refused.status, ((await refused.json()) as { code: string }).code, await kept(), await usage()]).toEqual([
    413,
    'PAYLOAD_TOO_LARGE',
    [],
    0,
  ])
  expect((await ask('anna', 'POST', '', form(whole.subarray(1), 'a'))).status).toBe(201)
  expect(await usage()).toBe(maxFileBytes)
})

const strangeNames = [
  '../../etc/passwd',
  '..',
  'a/b',
  'C:\\a',
  'a\r\nSet-Cookie: x=y',
  '\u202e',
  ' '.repeat(10),
  '🦆'.repeat(100),
  '%2e%2e%2f',
  "a';--",
]

test('a file is stored under its id, whatever its declared name, and the name breaks no header', async () => {
  const { ask, kept } = await served()
  for (const fileName of strangeNames) {
    const made = (await (await ask('anna', 'POST', '', form('x', fileName))).json()) as { id: string; name: string }
    expect(await kept()).toContain(made.id)
    expect(made.name).toMatch(/^[^/\\\p{Cc}]+$/u)
    const loaded = await ask('anna', 'GET', `/${made.id}/content`)
    expect([loaded.status, loaded.headers.get('set-cookie'), await loaded.text()]).toEqual([200, null, 'x'])
  }
  expect(await kept()).toHaveLength(strangeNames.length)
})

test('a name with a path is refused', async () => {
  const { ask, kept } = await served()
  const refused = await ask('anna', 'POST', '', form('x', 'a', { name: '../b' }))
  expect([refused.status, await kept()]).toEqual([400, []])
})

test('an upload whose session ends while it is sent is refused, and leaves nothing', async () => {
  const { half, users, rows, agree } = await served()
  const { finish } = half()
  await expect.poll(rows).toHaveLength(1)
  delete users.anna
  expect(await finish()).toBe(401)
  expect(await rows()).toEqual([])
  await agree()
})

test('a user may send four files at once: the fifth waits for a slot, and a disconnect releases one', async () => {
  const { ask, half, rows } = await served()
  const [first] = [half(), half(), half(), half()]
  await expect.poll(rows).toHaveLength(4)
  const fifth = await ask('anna', 'POST', '', form('x', 'a'))
  expect([fifth.status, fifth.headers.get('retry-after')]).toEqual([429, '5'])
  first?.leave()
  await expect.poll(rows).toHaveLength(3)
  await expect.poll(async () => (await ask('anna', 'POST', '', form('x', 'a'))).status).toBe(201)
})
