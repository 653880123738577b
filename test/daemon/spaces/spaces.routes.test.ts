import { expect, test } from 'vitest'
import type { PlatformPrincipal } from '../../../src/core/kit/index.ts'
import { filesRoutes } from '../../../src/daemon/files/index.ts'
import { spacesRoutes } from '../../../src/daemon/spaces/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aFilesWorld } from '../../support/files-world.ts'
import { aSmallApp } from '../../support/small-app.ts'

/** Spaces over HTTP. */
async function served(users: (room: Awaited<ReturnType<typeof aFilesWorld>>) => Promise<Record<string, PlatformPrincipal>>) {
  const room = await aFilesWorld((await emptyDatabase('sqlite')).db)
  const known = await users(room)
  const { url } = await aSmallApp([...spacesRoutes(room), ...filesRoutes(room)], known, room.clock)
  const call = async (user: string, method: string, path = '', body?: unknown) => {
    const headers = { authorization: `Bearer ${user}`, connection: 'close', ...(body ? { 'content-type': 'application/json' } : {}) }
    const response = await fetch(`${url}/api/platform/v1/spaces${path}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text) }
  }
  return { ...room, known, call }
}

const teacherAndParent = async (room: Awaited<ReturnType<typeof aFilesWorld>>) => ({
  anna: await room.aUser('anna', { capabilities: ['manageSpaces'] }),
  ben: await room.aUser('ben', { capabilities: [] }),
})

test('create, change and delete a space over HTTP', async () => {
  const { call, known } = await served(teacherAndParent)
  const made = await call('anna', 'POST', '', { name: '4b', type: 'CLASSROOM', visibility: 'PRIVATE' })
  expect([made.status, made.json.role, made.json.chat.status]).toEqual([201, 'owner', 'ready'])
  const one = `/${made.json.id}`
  const member = `${one}/members/${known.ben?.userId}`
  expect((await call('anna', 'PUT', member, {})).json).toMatchObject({ role: 'member' })
  expect((await call('ben', 'POST', `${one}/files/folders`, { name: 'Photos' })).status).toBe(201)
  expect((await call('ben', 'GET', `${one}/files/folders`)).json.folders).toMatchObject([{ name: 'Photos' }])
  expect((await call('ben', 'GET', `${one}/activity?limit=1`)).json.activity).toMatchObject([{ type: 'folder.created' }])
  expect((await call('ben', 'GET', `${one}/members`)).json.members).toHaveLength(2)
  expect((await call('ben', 'GET')).json.spaces).toMatchObject([{ name: '4b', role: 'member' }])
  expect((await call('anna', 'PATCH', one, { name: '5b' })).json).toMatchObject({ name: '5b' })
  expect((await call('ben', 'DELETE', one)).json).toMatchObject({ code: 'FORBIDDEN', retryable: false })
  expect(await call('anna', 'DELETE', member)).toEqual({ status: 204, json: undefined })
  expect((await call('ben', 'GET', `${one}/files/folders`)).json).toMatchObject({ code: 'NOT_FOUND' })
  expect((await call('anna', 'DELETE', one)).status).toBe(204)
  expect((await call('anna', 'GET', one)).status).toBe(404)
})

test.each([
  [{ name: '4b', type: 'CLUB', visibility: 'PRIVATE' }, 'type'],
  [{ name: '4b', type: 'GROUP', visibility: 'SECRET' }, 'visibility'],
  [{ name: ' ', type: 'GROUP', visibility: 'PRIVATE' }, 'name'],
  [{ name: 'a\u202eb', type: 'GROUP', visibility: 'PRIVATE' }, 'name'],
  [{ type: 'GROUP', visibility: 'PRIVATE' }, 'name'],
])('%j is not a valid space: %s', async (body, path) => {
  const { call } = await served(teacherAndParent)
  const refused = await call('anna', 'POST', '', body)
  expect([refused.status, refused.json.details[0].path]).toEqual([400, path])
})

test('creating a space requires the permission, and a missing space looks like a forbidden one', async () => {
  const { call } = await served(teacherAndParent)
  const body = { name: '4b', type: 'GROUP', visibility: 'PRIVATE' }
  expect((await call('ben', 'POST', '', body)).status).toBe(403)
  const { json } = await call('anna', 'POST', '', body)
  for (const path of ['', '/members', '/activity', '/files/folders']) {
    const [hidden, missing] = [await call('ben', 'GET', `/${json.id}${path}`), await call('ben', 'GET', `/spc_${'0'.repeat(20)}${path}`)]
    expect(hidden.status).toBe(404)
    expect(hidden.json).toEqual({ ...missing.json, message: missing.json.message.replace(`spc_${'0'.repeat(20)}`, json.id) })
  }
})
