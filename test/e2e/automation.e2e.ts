import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBoxSecrets } from '../../src/agent/boxes/box-secrets.ts'
import { secret } from '../../src/core/kit/index.ts'
import { openObjectStore } from '../../src/daemon/objects/index.ts'
import { silentLogger, systemClock } from '../../src/node/index.ts'
import { automationOver } from '../support/automation-world.ts'
import { emptyDatabase } from '../support/databases.ts'
import { aHomeserverWorld, type HomeserverWorld } from '../support/homeserver-world.ts'
import { aFolder } from '../support/running-daemon.ts'
import { spacesOver } from '../support/spaces-world.ts'
import { type OneBox, oneBox } from './support/one-box.ts'

// The walk-through of docs/automation.md over a real Synapse: what an automation tool calls, and what a member of the room then reads.

const slug = 'e2e-automation'
const chatDomain = `${slug}.test`
const password = secret('a good password')
let box: OneBox
let world: HomeserverWorld

beforeAll(async () => {
  box = await oneBox({ slug, synapse: 'synapse-1.163.2' })
  const secrets = await readBoxSecrets((await box.box()).project)
  if (!secrets) throw new Error('the box has no secrets')
  const { db } = await emptyDatabase('sqlite')
  world = await aHomeserverWorld(db, { origin: `http://127.0.0.1:${box.ports.platform}`, chatDomain, secrets })
}, 240_000)

afterAll(async () => {
  await world?.close()
  await world?.db.destroy()
  await box?.end()
})

test('an automation tool goes through an alarm, and a member reads its messages', async () => {
  const base = { ...world, clock: systemClock as HomeserverWorld['clock'], log: silentLogger() }
  const folder = await aFolder('files')
  const objects = await openObjectStore({ dataDir: folder, objectStore: `file:${folder}` } as never)
  const spaces = spacesOver(base, async (localpart) => void (await world.homeserver.createUser({ localpart, password })))
  const quotas = { light: 1e9, pro: 1e9, dedicated: 1e9 }
  const one = await automationOver({ ...base, ...spaces, objects, quotas, revocations: undefined as never })
  const petra = await one.aUserWith('petra', 'principal')
  const key = await one.aKey()
  const get = async (path: string) => (await one.call(key, `GET ${path}`)).json
  const post = async (path: string, body: object, name?: string) => {
    const answer = await one.call(key, `POST ${path}`, { tenantId, ...body }, name ? { 'idempotency-key': name } : {})
    expect([200, 201], JSON.stringify(answer.json)).toContain(answer.status)
    return answer.json
  }
  const { tenantId } = await get(`/tenant-info?chatDomain=${chatDomain}`)
  const tasks = [{ id: 'doors', title: 'Lock the doors', assignedRole: 'SCHOOL_PRINCIPAL' }]
  const made = await post('/events/alarm-1/create-tasks', { tasks })
  expect(made).toMatchObject({ created: 1, warnings: [], tasks: [{ assignedRole: 'principal' }] })
  expect(await post('/events/alarm-1/create-tasks', { tasks })).toMatchObject({ created: 0 })

  const { roomId } = await post('/events/alarm-1/create-room', { name: 'Alarm', topic: 'Drill', roles: ['SCHOOL_PRINCIPAL'] })
  expect(await post('/events/alarm-1/create-room', { name: 'Alarm' })).toMatchObject({ roomId, created: false })
  await one.work()
  const message = { body: 'Leave the building', html: '<b>Leave the building</b>' }
  const first = await post('/events/alarm-1/notify-matrix', message, 'm1')
  // As if the daemon had died before it stored the answer: the chat server knows the transaction.
  await world.db
    .updateTable('automation_calls')
    .set({ answer: null, lock_until: new Date(0).toISOString() })
    .execute()
  expect(await post('/events/alarm-1/notify-matrix', message, 'm1')).toEqual(first)
  expect((await get(`/events/alarm-1/tasks?tenantId=${tenantId}`)).tasks).toHaveLength(1)
  expect(await post(`/tasks/${made.tasks[0].id}/escalate`, {})).toMatchObject({ task: { escalationLevel: 1 } })

  const space = await post('/spaces/create', { name: 'Crisis team', type: 'CRISIS', visibility: 'PRIVATE' })
  expect(space.chat.status).toBe('ready')
  await post(`/spaces/${space.id}/members`, { userId: petra.userId, role: 'owner' })
  await one.work()
  await post('/matrix/send', { roomId: space.chat.roomId, body: 'Meet in the hall' })
  await one.work()
  const report = await post('/events/alarm-1/generate-report', { spaceId: space.id })
  expect(report.files).toMatchObject({ spaceId: space.id })
  expect((await get(`/matrix/rooms?tenantId=${tenantId}`)).rooms.map(({ roomId: id }: { roomId: string }) => id)).toEqual([
    roomId,
    space.chat.roomId,
  ])
  expect((await get(`/users?tenantId=${tenantId}`)).users).toMatchObject([{ localpart: 'petra' }])

  const chat = async (token: string, path: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`http://127.0.0.1:${box.ports.public}/_matrix/client/v3${path}`, { headers })).json()
  }
  const login = await world.homeserver.login({ localpart: 'petra', password, deviceName: 'Phone' })
  if (login.kind !== 'ok') throw new Error(`petra was not let in: ${login.kind}`)
  const read = async (id: string) => {
    const { chunk } = (await chat(login.accessToken.reveal(), `/rooms/${encodeURIComponent(id)}/messages?dir=b&limit=50`)) as {
      chunk: { type: string; sender: string; content: { body: string } }[]
    }
    return chunk.filter(({ type }) => type === 'm.room.message').map(({ sender, content }) => `${sender} ${content.body}`)
  }
  expect(await read(roomId)).toEqual([`@tenantry-bot:${chatDomain} Leave the building`])
  expect(await read(space.chat.roomId)).toEqual([`@tenantry-bot:${chatDomain} Meet in the hall`])

  const credentials = await get(`/matrix/credentials?tenantId=${tenantId}`)
  expect((await get(`/matrix/credentials?tenantId=${tenantId}`)).accessToken).toBe(credentials.accessToken)
  expect(await chat(credentials.accessToken, '/account/whoami')).toMatchObject({ user_id: `@tenantry.automation:${chatDomain}` })
  expect((await one.call(undefined, 'POST /api/admin/v1/tenants/acme/automation/rotate')).status).toBe(200)
  expect(await chat(credentials.accessToken, '/account/whoami')).toMatchObject({ errcode: 'M_UNKNOWN_TOKEN' })
}, 120_000)
