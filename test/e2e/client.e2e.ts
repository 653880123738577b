import { FormData } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aSchool, type Session } from './support/a-school.ts'
import { type ChatApp, chatApp } from './support/chat-app.ts'
import { logOnFailure } from './support/fleet.ts'
import type { Stream } from './support/platform-app.ts'
import { eventually } from './support/programs.ts'

// A school user's actions with an app, in their order: the platform is reached through its nginx, the chat server through the edge of its box,
// and the client is the library that real ones are made of. Each test goes on where the one before ended.

const slug = 'kita-client'
const password = 'correct horse battery'

type Space = { id: string; chat: { status: string; spaceRoomId: string; roomId: string } }
type Bootstrap = { spaces: { id: string; role: string }[]; tasks: { id: string }[]; permissions: string[]; apiVersion: string }
type Task = { id: string; status: string }

let school: Awaited<ReturnType<typeof aSchool>>
const sessions = new Map<string, Session>()
const apps = new Map<string, ChatApp>()
let space: Space
let bensStream: Stream

const sessionOf = (name: string) => sessions.get(name) as Session
const appOf = (name: string) => apps.get(name) as ChatApp

beforeAll(async () => {
  school = await aSchool({ slug, password, people: { anna: 'teacher', ben: 'student' } })
})
logOnFailure(() => school.fleet)
afterAll(async () => {
  for (const { client } of apps.values()) client.stopClient()
  await school?.end()
})

const bootstrap = (name: string, etag?: string) =>
  school.platform.ask<Bootstrap>('GET', '/api/platform/v1/bootstrap', {
    token: sessionOf(name).token,
    ...(etag === undefined ? {} : { headers: { 'if-none-match': etag } }),
  })
const toChat = (path: string, method = 'POST') =>
  fetch(school.box.publicUrl + path, { method, ...(method === 'POST' ? { body: '{}' } : {}) })

describe('without the platform', () => {
  test.each([
    '/_matrix/client/v3/login',
    '/_matrix/client/r0/login',
    '/_matrix/client/v3/register',
    '/_matrix/client/v3/refresh',
    '/_matrix/client/v3/account/password',
    '/_matrix/client/v3/account/deactivate',
    '/_matrix/client/v3//lo%67in/',
  ])('%s of the chat server is refused, in a way that a web chat can read', async (path) => {
    const answer = await toChat(path)
    expect([answer.status, await answer.json()]).toMatchObject([403, { errcode: 'M_FORBIDDEN' }])
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  })

  test('the server’s administration is not there, and its well-known names it', async () => {
    expect((await toChat('/_synapse/admin/v1/server_version', 'GET')).status).toBe(404)
    const known = await toChat('/.well-known/matrix/client', 'GET')
    expect(await known.json()).toEqual({ 'm.homeserver': { base_url: expect.stringMatching(/^https?:/) } })
    expect(known.headers.get('access-control-allow-origin')).toBe('*')
  })
})

test('a login through the platform opens platform and chat, with the slug or the chat domain', async () => {
  for (const [name, tenant] of [
    ['anna', slug],
    ['ben', `${slug}.example`],
  ] as const) {
    const { status, body } = await school.logIn(name, { tenant })
    expect([status, body]).toMatchObject([
      200,
      { expiresIn: 86_400, matrixUserId: `@${name}:${slug}.example`, homeserver: `${slug}.example` },
    ])
    sessions.set(name, body)
    apps.set(name, await chatApp({ baseUrl: school.box.publicUrl, userId: body.matrixUserId, accessToken: body.matrixAccessToken }))
  }
  const { devices } = await appOf('anna').client.getDevices()
  expect(devices.map(({ display_name }) => display_name)).toEqual(['Phone of anna'])
})

test('a wrong password is 401 and says nothing more', async () => {
  const { status, body } = await school.logIn('anna', { password: 'wrong password' })
  expect([status, body]).toMatchObject([401, { code: 'LOGIN_FAILED', retryable: false }])
})

test('the bootstrap document contains permissions, and is 304 while unchanged', async () => {
  const { body, headers } = await bootstrap('anna')
  expect(body).toMatchObject({
    apiVersion: 'v1',
    spaces: [],
    tasks: [],
    permissions: expect.arrayContaining(['manageSpaces', 'manageBoards']),
  })
  expect((await bootstrap('anna', headers.get('etag') as string)).status).toBe(304)
  expect((await bootstrap('ben')).body.permissions).toEqual([])
})

test('a new space appears in the chat with its room, and its members are notified', async () => {
  bensStream = await school.platform.follow(sessionOf('ben').token)
  const { token } = sessionOf('anna')
  const made = await school.platform.ask<Space>('POST', '/api/platform/v1/spaces', {
    token,
    body: { name: 'Class 4b', type: 'CLASSROOM', visibility: 'PRIVATE' },
  })
  expect([made.status, made.body]).toMatchObject([201, { role: 'owner' }])
  space = await eventually('the chat server has the space', async () => {
    const { body } = await school.platform.ask<Space>('GET', `/api/platform/v1/spaces/${made.body.id}`, { token })
    return body.chat.status === 'ready' && body
  })
  const put = await school.platform.ask('PUT', `/api/platform/v1/spaces/${space.id}/members/${school.userIds.get('ben')}`, {
    token,
    body: {},
  })
  expect(put.status).toBe(200)
  expect((await bensStream.until('membership.changed')).data.ids).toMatchObject({ spaceId: space.id })
  for (const app of apps.values()) {
    const [parent, room] = [await app.room(space.chat.spaceRoomId), await app.room(space.chat.roomId)]
    expect([parent.isSpaceRoom(), parent.name, room.isSpaceRoom(), room.name]).toEqual([true, 'Class 4b', false, 'Class 4b'])
  }
  expect((await bootstrap('ben')).body.spaces).toMatchObject([{ id: space.id, role: 'member' }])
})

test('members of the room receive messages and read its state; nothing is readable without a token', async () => {
  const { roomId } = space.chat
  await appOf('anna').client.sendTextMessage(roomId, 'Tomorrow we go swimming')
  expect((await appOf('ben').hears(roomId, 'Tomorrow we go swimming')).getSender()).toBe(sessionOf('anna').matrixUserId)
  const state = await appOf('ben').client.roomState(roomId)
  expect(state).toEqual(expect.arrayContaining([expect.objectContaining({ type: 'm.room.name', content: { name: 'Class 4b' } })]))
  expect((await toChat(`/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/state`, 'GET')).status).toBe(401)
})

test('a picture that one uploads the other gets, with a token alone', async () => {
  const [anna, ben] = [appOf('anna').client, appOf('ben').client]
  const picture = Buffer.from(new Uint8Array(256 * 1024).map((_, n) => n % 251))
  const { content_uri } = await anna.uploadContent(picture, { type: 'image/png', name: 'pool.png' })
  const url = ben.mxcUrlToHttp(content_uri, undefined, undefined, undefined, false, true, true) as string
  expect(url).toContain('/_matrix/client/v1/media/download/')
  const got = await fetch(url, { headers: { authorization: `Bearer ${ben.getAccessToken()}` } })
  expect(Buffer.from(await got.arrayBuffer()).equals(picture)).toBe(true)
  expect((await fetch(url)).status).toBe(401)
})

test('a pusher is set and seen', async () => {
  const { client } = appOf('anna')
  const names = { app_id: 'example.school.ios', app_display_name: 'School', device_display_name: 'Phone of anna', lang: 'de' }
  await client.setPusher({ kind: 'http', pushkey: 'key-1', ...names, data: { url: 'https://push.school.example/_matrix/push/v1/notify' } })
  expect((await client.getPushers()).pushers).toMatchObject([{ pushkey: 'key-1', app_id: 'example.school.ios' }])
})

test('members are notified of an uploaded file of 20 MB and download it unchanged', async () => {
  const bytes = Buffer.alloc(20 * 1024 * 1024, 'towel')
  const form = new FormData()
  form.append('file', new File([bytes], 'timetable.bin'))
  const files = `/api/platform/v1/spaces/${space.id}/files`
  const { status, body } = await school.platform.ask<{ id: string; bytes: number }>('POST', files, { token: sessionOf('anna').token, form })
  expect([status, body]).toMatchObject([201, { name: 'timetable.bin', bytes: bytes.length }])
  expect((await bensStream.until('file.changed')).data.ids).toMatchObject({ fileId: body.id, spaceId: space.id })
  const got = await school.platform.send('GET', `${files}/${body.id}/content`, { token: sessionOf('ben').token })
  expect(Buffer.from(await got.arrayBuffer()).equals(bytes)).toBe(true)
})

test('a user is notified of an assigned task, reads it and completes it', async () => {
  const task = { title: 'Bring the towels', spaceId: space.id, assigneeId: school.userIds.get('ben') }
  const { body } = await school.platform.ask<Task>('POST', '/api/platform/v1/tasks', { token: sessionOf('anna').token, body: task })
  expect((await bensStream.until('task.created')).data.ids).toMatchObject({ taskId: body.id })
  expect((await bootstrap('ben')).body.tasks).toMatchObject([{ id: body.id }])
  const done = await school.platform.ask<Task>('POST', `/api/platform/v1/tasks/${body.id}/complete`, { token: sessionOf('ben').token })
  expect(done.body.status).toBe('done')
  expect((await bootstrap('ben')).body.tasks).toEqual([])
})

test('a stream that broke off goes on after the last event', async () => {
  const [first] = bensStream.received
  const again = await school.platform.follow(sessionOf('ben').token, first?.id as string)
  await again.until('task.updated')
  const laterIds = bensStream.received.slice(1).map(({ id }) => id)
  expect(again.received.map(({ id }) => id).slice(0, laterIds.length)).toEqual(laterIds)
})

test('a refresh token opens once; the second use ends the session, not the chat', async () => {
  const { body: phone } = await school.logIn('ben', { deviceName: 'Old phone' })
  const refresh = (refresh_token: string) => school.platform.ask<Session>('POST', '/api/auth/v1/refresh', { body: { refresh_token } })
  const renewed = await refresh(phone.refreshToken)
  expect(renewed.status).toBe(200)
  expect(renewed.body.refreshToken).not.toBe(phone.refreshToken)
  expect(await refresh(phone.refreshToken)).toMatchObject({ status: 401, body: { code: 'REFRESH_TOKEN_REUSED' } })
  expect((await refresh(renewed.body.refreshToken)).status).toBe(401)
  const whoami = await fetch(`${school.box.publicUrl}/_matrix/client/v3/account/whoami`, {
    headers: { authorization: `Bearer ${phone.matrixAccessToken}` },
  })
  expect(whoami.status).toBe(200)
})

test('a changed password opens from now on, and leaves open what is open', async () => {
  const newPassword = 'staple of the battery'
  const changed = await school.platform.ask('POST', '/api/auth/v1/change-password', {
    token: sessionOf('anna').token,
    body: { currentPassword: password, newPassword },
  })
  expect(changed.status).toBe(204)
  expect((await bootstrap('anna')).status).toBe(200)
  expect((await appOf('anna').client.whoami()).user_id).toBe(sessionOf('anna').matrixUserId)
  expect([(await school.logIn('anna')).status, (await school.logIn('anna', { password: newPassword })).status]).toEqual([401, 200])
})

test('a log-out ends the session of the platform, and the chat’s own ends that of the chat', async () => {
  const { token, refreshToken, matrixAccessToken } = (await school.logIn('ben', { deviceName: 'Borrowed' })).body
  expect((await school.platform.ask('POST', '/api/auth/v1/logout', { body: { refresh_token: refreshToken } })).status).toBe(204)
  await expect
    .poll(async () => (await school.platform.ask('GET', '/api/platform/v1/profile', { token })).status, { timeout: 5000 })
    .toBe(401)
  const ask = (path: string, method = 'GET') =>
    fetch(`${school.box.publicUrl}/_matrix/client/v3/${path}`, { method, headers: { authorization: `Bearer ${matrixAccessToken}` } })
  expect([(await ask('account/whoami')).status, (await ask('logout', 'POST')).status, (await ask('account/whoami')).status]).toEqual([
    200, 200, 401,
  ])
})

test('while the box is in maintenance a login is 503 and says when to come again; sessions of the platform go on', async () => {
  await school.fleet.must('boxes', 'maintenance', 'on', slug, '--reason', 'its disk is moved')
  const { status, body, headers } = await school.logIn('ben')
  expect([status, body]).toMatchObject([503, { code: 'HOMESERVER_UNREACHABLE', retryable: true }])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await toChat('/_matrix/client/v3/sync', 'GET')).status).toBe(503)
  expect((await bootstrap('ben')).status).toBe(200)
  await school.fleet.must('boxes', 'maintenance', 'off', slug)
  expect((await school.logIn('ben')).status).toBe(200)
})

test('who is disabled is out of platform and chat, and the stream ends', async () => {
  await school.fleet.must('users', 'disable', slug, 'ben', '--reason', 'left the school', '--yes')
  await bensStream.ended
  expect((await bootstrap('ben')).status).toBe(401)
  const { matrixAccessToken } = sessionOf('ben')
  const sync = () =>
    fetch(`${school.box.publicUrl}/_matrix/client/v3/sync?timeout=0`, { headers: { authorization: `Bearer ${matrixAccessToken}` } })
  await expect.poll(async () => (await sync()).status, { timeout: 30_000 }).toBe(401)
})
