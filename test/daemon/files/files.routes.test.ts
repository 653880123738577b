import { expect, test } from 'vitest'
import { mostFileBytes } from '../../../src/core/files/index.ts'
import { filesRoutes } from '../../../src/daemon/files/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aFilesRoom } from '../../support/files-room.ts'
import { aSmallApp } from '../../support/small-app.ts'

/** A space of anna over HTTP, with a stranger. */
async function served() {
  const room = await aFilesRoom((await emptyDatabase('sqlite')).db, 200 * 1024 * 1024)
  const users = { anna: await room.aUser('anna'), eve: await room.aUser('eve') }
  const { id: spaceId } = await room.aSpace(users.anna)
  const { url } = await aSmallApp(filesRoutes(room), users)
  const ask = (user: string, method: string, path: string, body?: FormData | string, headers: Record<string, string> = {}) =>
    fetch(`${url}/api/platform/v1/spaces/${spaceId}/files${path}`, {
      method,
      headers: { authorization: `Bearer ${user}`, connection: 'close', ...headers },
      ...(body === undefined ? {} : { body }),
    })
  return { ...room, ask, spaceId }
}

function form(content: Uint8Array<ArrayBuffer> | string, fileName: string, fields: Record<string, string> = {}) {
  const made = new FormData()
  made.append('file', new Blob([content], { type: 'text/html' }), fileName)
  for (const [name, value] of Object.entries(fields)) made.append(name, value)
  return made
}

test('a file from its upload to its end, over HTTP', async () => {
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

test('a stranger is told of nothing, whatever is asked and sent', async () => {
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

test('a file above 50 MB is refused with its code, one of exactly 50 MB is kept', async () => {
  const { ask, kept, usage } = await served()
  const whole = new Uint8Array(mostFileBytes + 1)
  const refused = await ask('anna', 'POST', '', form(whole, 'a'))
  expect([refused.status, ((await refused.json()) as { code: string }).code, await kept(), await usage()]).toEqual([
    413,
    'PAYLOAD_TOO_LARGE',
    [],
    0,
  ])
  expect((await ask('anna', 'POST', '', form(whole.subarray(1), 'a'))).status).toBe(201)
  expect(await usage()).toBe(mostFileBytes)
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

test('whatever a program calls its file, it is kept under its id, and the name breaks nothing', async () => {
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

test('a name that a person gives is refused when it leads elsewhere', async () => {
  const { ask, kept } = await served()
  const refused = await ask('anna', 'POST', '', form('x', 'a', { name: '../b' }))
  expect([refused.status, await kept()]).toEqual([400, []])
})
