import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aSchool, type Session } from './support/a-school.ts'
import { logOnFailure } from './support/fleet.ts'
import { type N8n, startN8n } from './support/n8n.ts'
import { eventually } from './support/programs.ts'

// docs/automation.md in real n8n over a real chat server: every alarm arrives once, also when the daemon is killed meanwhile.

const slug = 'kita-n8n'
const password = 'correct horse battery'
const alarms = [1, 2, 3, 4].map((nth) => `alarm-${nth}`)

let school: Awaited<ReturnType<typeof aSchool>>
let key: string
let tenantId: string
let base: string
let n8n: N8n

const automation = async <T>(path: string): Promise<T> => {
  const response = await fetch(`${base}${path}`, { headers: { 'x-automation-key': key } })
  expect(response.status).toBe(200)
  return (await response.json()) as T
}

beforeAll(async () => {
  school = await aSchool({ slug, password, people: { petra: 'principal', carl: 'custodian' } })
  key = (await school.fleet.must('automation', 'keys', 'create', 'n8n', '--tenant', slug, '--json')).json<{ key: string }>().key
  base = `${school.fleet.url}/api/platform/v1/auto-callback`
  tenantId = (await automation<{ tenantId: string }>(`/tenant-info?slug=${slug}`)).tenantId
  const { stdout: folder } = await execa('bash', ['test/testbed/n8n.sh'])
  n8n = await startN8n(folder, { baseUrl: base, key, tenantId })
})
logOnFailure(() => school.fleet)
afterAll(async () => {
  await n8n?.end()
  await school?.end()
})

/** Texts of the bot in a room, as the chat client of a member reads them, oldest first. */
async function textsIn(roomId: string, { matrixAccessToken }: Session): Promise<string[]> {
  const path = `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/messages?dir=f&limit=100`
  const response = await fetch(school.box.publicUrl + path, { headers: { authorization: `Bearer ${matrixAccessToken}` } })
  const { chunk } = (await response.json()) as { chunk: { type: string; content: { body: string } }[] }
  return chunk.filter(({ type }) => type === 'm.room.message').map(({ content }) => content.body)
}

test('alarms through a daemon that is killed arrive once each', async () => {
  for (const alarm of alarms.slice(0, 2)) await n8n.ring(alarm)
  await eventually('the daemon has begun', async () => school.fleet.daemon.output().includes(`/${alarms[1]}/create-tasks`), {
    everyMs: 20,
  })
  await school.fleet.daemon.kill('SIGKILL')
  for (const alarm of alarms.slice(2)) await n8n.ring(alarm)
  school.fleet.daemon.start()
  await eventually('n8n has finished', async () => (await n8n.statuses()).success === alarms.length)
  expect(await n8n.statuses()).toEqual({ success: alarms.length })

  const petra = (await school.logIn('petra')).body
  const { rooms } = await automation<{ rooms: { roomId: string; eventId: string }[] }>(`/matrix/rooms?tenantId=${tenantId}`)
  const ours = rooms.filter(({ eventId }) => alarms.includes(eventId))
  expect(ours.map(({ eventId }) => eventId).toSorted()).toEqual(alarms)
  for (const { roomId, eventId } of ours) {
    const { tasks } = await automation<{ tasks: { externalId: string }[] }>(`/events/${eventId}/tasks?tenantId=${tenantId}`)
    expect(tasks.map(({ externalId }) => externalId)).toEqual(['doors'])
    await eventually(`petra reads ${eventId}`, async () => (await textsIn(roomId, petra)).length >= 2)
    expect(await textsIn(roomId, petra), eventId).toEqual(['Leave!', 'All clear'])
  }
})
