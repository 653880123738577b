import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aSchool, type Session } from './support/a-school.ts'
import { logOnFailure } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// What a phone is notified of while the app is closed: a real chat server, and a push gateway of the test.

const slug = 'kita-push'
const password = 'correct horse battery'
/** The chat server refuses gateways at private addresses, and those of documentation. */
const gatewayAddress = '11.98.76.54'

type Push = Readonly<{
  event_id?: string
  sender?: string
  type?: string
  prio?: string
  room_id?: string
  room_name?: string
  content?: { body?: string; msgtype?: string }
  devices: readonly { pushkey: string; tweaks?: { sound?: string; highlight?: boolean } }[]
}>

let school: Awaited<ReturnType<typeof aSchool>>
const sessions = new Map<string, Session>()
const pushes: (Push & Readonly<{ atMs: number }>)[] = []
const gateway = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  const { notification } = JSON.parse(text) as { notification: Push }
  // A change of the unread count has no event.
  if (notification.event_id) pushes.push({ ...notification, atMs: performance.now() })
  response.setHeader('content-type', 'application/json').end('{"rejected":[]}')
})

beforeAll(async () => {
  await execa('ip', ['address', 'add', `${gatewayAddress}/32`, 'dev', 'lo'])
  gateway.listen(0, gatewayAddress)
  await once(gateway, 'listening')
  school = await aSchool({ slug, password, people: { anna: 'teacher', ben: 'student', petra: 'principal' } })
  for (const name of ['anna', 'ben', 'petra']) sessions.set(name, (await school.logIn(name)).body)
  for (const name of ['ben', 'petra']) await setPusher(name)
}, 600_000)
logOnFailure(() => school.fleet)
afterAll(async () => {
  gateway.close()
  await execa('ip', ['address', 'delete', `${gatewayAddress}/32`, 'dev', 'lo'], { reject: false })
  await school?.end()
})

const sessionOf = (name: string) => sessions.get(name) as Session

async function setPusher(name: string): Promise<void> {
  const names = { app_id: 'example.school.android', app_display_name: 'School', device_display_name: `Phone of ${name}`, lang: 'de' }
  const url = `http://${gatewayAddress}:${(gateway.address() as AddressInfo).port}/_matrix/push/v1/notify`
  const answer = await fetch(`${school.box.publicUrl}/_matrix/client/v3/pushers/set`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sessionOf(name).matrixAccessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'http', pushkey: name, ...names, data: { url } }),
  })
  expect(answer.status).toBe(200)
}

const post = async <Body>(as: string, path: string, body: unknown = {}) => {
  const answer = await school.platform.ask<Body>('POST', `/api/platform/v1${path}`, { token: sessionOf(as).token, body })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

/** The next push of a message, or of another event, to a phone. */
async function pushedTo(name: string, call: () => Promise<unknown>, type = 'm.room.message') {
  const [before, beganMs] = [pushes.length, performance.now()]
  await call()
  const push = await eventually(
    `a push to the phone of ${name}`,
    async () => pushes.slice(before).find((push) => push.type === type && push.devices[0]?.pushkey === name),
    { timeoutMs: 60_000 },
  )
  console.log(`push to ${name}: ${Math.round(push.atMs - beganMs)} ms, ${JSON.stringify(push)}`)
  return push
}

const loud = {
  prio: 'high',
  devices: [expect.objectContaining({ tweaks: expect.objectContaining({ highlight: true, sound: 'default' }) })],
}
const bot = `@tenantry-bot:${slug}.example`

test('a task of a user is pushed to its phone, with a sound and without its title', async () => {
  const task = { title: 'Bring the towels', assigneeId: school.userIds.get('ben') }
  const push = await pushedTo('ben', () => post('anna', '/tasks', task))
  expect(push).toMatchObject({ sender: bot, ...loud })
  expect(push.content?.body).toMatch(/: you have a new task\./)
  expect(JSON.stringify(push)).not.toContain('towels')
})

test('a checkpoint of a run is pushed to the phones of those who approve it', async () => {
  const definition = {
    columns: [],
    elements: [
      { id: 'start', kind: 'start', label: 'Start', config: {} },
      { id: 'approve', kind: 'checkpoint', label: 'Close the school', config: { assignedRole: 'principal', requiredApprovals: 1 } },
      { id: 'end', kind: 'end', label: 'End', config: {} },
    ],
    edges: [
      { id: 'e1', source: 'start', target: 'approve' },
      { id: 'e2', source: 'approve', target: 'end', condition: { type: 'approved' } },
      { id: 'e3', source: 'approve', target: 'end', condition: { type: 'rejected' }, sortOrder: 1 },
    ],
    startRoles: ['teacher'],
    triggers: [],
  }
  const { id } = await post<{ id: string }>('anna', '/cascade-boards', { name: 'Trip', definition })
  await post('anna', `/cascade-boards/${id}/publish`)
  const push = await pushedTo('petra', () => post('anna', `/cascade-boards/${id}/runs`))
  expect(push).toMatchObject({ sender: bot, ...loud })
})

test('the room of a crisis is pushed to the phones of its members, and so is each message to it', async () => {
  const { key } = (await school.fleet.must('automation', 'keys', 'create', 'tool', '--tenant', slug, '--json')).json<{ key: string }>()
  const { body } = await school.platform.ask<{ context: { schoolId: string } }>('GET', '/api/platform/v1/bootstrap', {
    token: sessionOf('ben').token,
  })
  const asTool = async (verb: string, given: object) => {
    const answer = await school.platform.ask('POST', `/api/platform/v1/auto-callback/${verb}`, {
      headers: { 'x-automation-key': key, 'idempotency-key': verb },
      body: { tenantId: body.context.schoolId, ...given },
    })
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  }
  const room = { name: 'Fire in the gym', userIds: [school.userIds.get('ben')] }
  const invitation = await pushedTo('ben', () => asTool('events/alarm-1/create-room', room), 'm.room.member')
  expect(invitation).toMatchObject({ prio: 'high', room_name: 'Fire in the gym' })
  const roomId = invitation.room_id
  const push = await pushedTo('ben', () => asTool('events/alarm-1/notify-matrix', { body: 'Leave the building' }))
  expect(push).toMatchObject({ sender: bot, content: { body: 'Leave the building' }, ...loud })
  // Why notices and messages of a crisis mention their readers.
  const quiet = await pushedTo('ben', () => asTool('matrix/send', { roomId, body: 'All is well' }))
  expect(quiet).toMatchObject({ prio: 'low', content: { body: 'All is well' } })
  expect(quiet.devices[0]?.tweaks?.sound).toBeUndefined()
})
