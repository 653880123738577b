import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aSchool, type Session } from './support/a-school.ts'
import { logOnFailure } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// Flow boards over a real chat server: runs that messages in a room of a space start.

const slug = 'kita-boards'
const password = 'correct horse battery'
const boards = '/api/platform/v1/cascade-boards'

type Space = { id: string; chat: { status: string; roomId: string } }
type Run = { id: string; trigger: string; startedBy: string; spaceId: string; status: string }

let school: Awaited<ReturnType<typeof aSchool>>
const sessions = new Map<string, Session>()
let space: Space
let boardId: string

beforeAll(async () => {
  school = await aSchool({ slug, password, people: { anna: 'teacher', ben: 'student' } })
  for (const name of ['anna', 'ben']) sessions.set(name, (await school.logIn(name)).body)
})
logOnFailure(() => school.fleet)
afterAll(() => school?.end())

const sessionOf = (name: string) => sessions.get(name) as Session
const ask = <Body>(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) =>
  school.platform.ask<Body>(method, path, { token: sessionOf('anna').token, ...(body === undefined ? {} : { body }) })

/** Writes in the staff room, as the chat client of the person does. Returns the id of the event. */
async function write(name: string, body: string, content: object = { msgtype: 'm.text', body }): Promise<string> {
  const path = `/_matrix/client/v3/rooms/${encodeURIComponent(space.chat.roomId)}/send/m.room.message/${performance.now()}`
  const headers = { authorization: `Bearer ${sessionOf(name).matrixAccessToken}`, 'content-type': 'application/json' }
  // The chat server limits how fast one person writes; the same path is the same message.
  return eventually(`${name} writes`, async () => {
    const response = await fetch(school.box.publicUrl + path, { method: 'PUT', headers, body: JSON.stringify(content) })
    if (response.status !== 429) expect(response.status).toBe(200)
    return ((await response.json()) as { event_id?: string }).event_id
  })
}

const runs = async (): Promise<Run[]> => (await ask<{ runs: Run[] }>('GET', `${boards}/${boardId}/runs`)).body.runs
const runsAre = (count: number) => eventually(`there are ${count} runs`, async () => (await runs()).length === count, { timeoutMs: 60_000 })

async function startDaemon(): Promise<void> {
  school.fleet.daemon.start()
  await eventually('the daemon is ready', async () => (await fetch(`${school.fleet.url}/readyz`)).ok)
}

describe('the word alarm in the staff room', () => {
  beforeAll(async () => {
    space = (await ask<Space>('POST', '/api/platform/v1/spaces', { name: 'Staff', type: 'STAFF', visibility: 'PRIVATE' })).body
    const member = school.userIds.get('ben') as string
    await ask('PUT', `/api/platform/v1/spaces/${space.id}/members/${member}`, { role: 'member' })
    space = await eventually('the staff room is in the chat', async () => {
      const { body } = await ask<Space>('GET', `/api/platform/v1/spaces/${space.id}`)
      return body.chat.status === 'ready' && body
    })
    const definition = {
      elements: [
        { id: 's', kind: 'start', label: 'Alarm', config: {} },
        { id: 'e', kind: 'end', label: 'End', config: {} },
      ],
      edges: [{ id: 'se', source: 's', target: 'e' }],
      startRoles: ['teacher'],
      triggers: [{ id: 'alarm', kind: 'chat', phrases: ['alarm'], cooldownMinutes: 0 }],
    }
    boardId = (await ask<{ id: string }>('POST', boards, { name: 'Crisis', spaceId: space.id, definition })).body.id
    expect(await ask('POST', `${boards}/${boardId}/publish`)).toMatchObject({ status: 200, body: { status: 'active' } })
  }, 300_000)

  test('starts the run once', async () => {
    await write('anna', 'ALARM in the gym!')
    await runsAre(1)
    expect(await runs()).toMatchObject([{ trigger: 'chat', startedBy: school.userIds.get('anna'), spaceId: space.id }])
  })

  test('starts nothing as a notice, in a quote, within another word, or by a role that the board does not name', async () => {
    await write('anna', '', { msgtype: 'm.notice', body: 'alarm' })
    await write('anna', '> alarm\n\nthat was a test')
    await write('anna', 'an alarming message')
    await write('ben', 'alarm')
    await write('anna', 'alarm')
    await runsAre(2)
  })

  test('starts within two seconds', async () => {
    const sentMs = performance.now()
    await write('anna', 'alarm')
    await eventually('the run is there', async () => (await runs()).length === 3, { everyMs: 50 })
    expect(performance.now() - sentMs).toBeLessThan(2_000)
  })

  test('starts the run once, also when the daemon is killed right then', async () => {
    for (const delayMs of [0, 20, 60]) {
      const before = (await runs()).length
      await write('anna', 'alarm')
      await new Promise((next) => setTimeout(next, delayMs))
      await school.fleet.daemon.kill('SIGKILL')
      await write('anna', 'nothing else')
      await startDaemon()
      await runsAre(before + 1)
    }
  })

  test('is read from the history when many messages were written meanwhile', async () => {
    const before = (await runs()).length
    await school.fleet.daemon.kill('SIGKILL')
    await write('anna', 'alarm')
    for (let n = 0; n < 15; n++) await write('anna', `message ${n}`)
    await startDaemon()
    await runsAre(before + 1)
  })
})
