import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aSchool, aUser, type Session } from './support/a-school.ts'
import type { ReachableBox } from './support/conversation.ts'
import { crisisDefinition, rejectedToEnd } from './support/crisis-board.ts'
import { logOnFailure } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// Flow boards over a real chat server and one daemon process: a crisis from its alarm to its report, and runs that messages start.

const slug = 'kita-boards'
const otherSlug = 'kita-elsewhere'
const password = 'correct horse battery'
const boards = '/api/platform/v1/cascade-boards'
const people = { anna: 'teacher', ben: 'student', petra: 'principal', dirk: 'principal', carl: 'custodian' }
const others = { tina: 'teacher', paul: 'principal', pia: 'principal', kurt: 'custodian' }

type Space = { id: string; chat: { status: string; roomId: string } }
type Board = {
  id: string
  status: string
  version: number
  publishedVersion: number | null
  definition: { edges: object[]; elements: Element[] }
}
type Element = { id: string; label: string; config: object }
type Run = { id: string; trigger: string; startedBy: string; spaceId: string; status: string; seq: number; boardVersion: number }
type Detail = Run & {
  activeElementIds: string[]
  open: { elementId: string; taskId: string; approvals: number }[]
  reports: { id: string }[]
}
type Report = { status: string; markdown: string; missing: string[]; spaceId: string; markdownFileId: string; pdfFileId: string }
type Problem = { code: string; message: string; violations: { path: string; message: string }[] }

let school: Awaited<ReturnType<typeof aSchool>>
const sessions = new Map<string, Session>()
/** The box of the other tenant. */
let otherBox: ReachableBox
let space: Space
let boardId: string

const logIn = async (tenant: string, username: string) => {
  const asked = { body: { tenant, username, password, deviceName: 'Phone' } }
  sessions.set(username, (await school.platform.ask<Session>('POST', '/api/auth/v1/login', asked)).body)
}

beforeAll(async () => {
  school = await aSchool({ slug, password, people })
  for (const name of Object.keys(people)) await logIn(slug, name)
  space = await aSpace('anna', 'Staff', 'STAFF')
  await call('PUT', `/api/platform/v1/spaces/${space.id}/members/${school.userIds.get('ben')}`, { body: { role: 'member' } })
}, 300_000)
logOnFailure(() => school.fleet)
afterAll(() => school?.end())

/** Another tenant with a box and users of its own. */
async function anotherSchool(): Promise<void> {
  otherBox = await school.fleet.provision(otherSlug, 'light')
  for (const [name, role] of Object.entries(others)) await aUser(school.fleet, { slug: otherSlug, name, role, password })
  for (const name of Object.keys(others)) await logIn(otherSlug, name)
}

const sessionOf = (name: string) => sessions.get(name) as Session
type Call = Readonly<{ as?: string; body?: unknown; key?: string }>
const call = <Body>(method: 'GET' | 'POST' | 'PUT', path: string, { as = 'anna', body, key }: Call = {}) =>
  school.platform.ask<Body>(method, path, {
    token: sessionOf(as).token,
    ...(body === undefined ? {} : { body }),
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  })
const ask = <Body>(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) => call<Body>(method, path, { body })

async function aSpace(as: string, name: string, type: string): Promise<Space> {
  const { body } = await call<Space>('POST', '/api/platform/v1/spaces', { as, body: { name, type, visibility: 'PRIVATE' } })
  return eventually(`the room ${name} is in the chat`, async () => {
    const { body: now } = await call<Space>('GET', `/api/platform/v1/spaces/${body.id}`, { as })
    return now.chat.status === 'ready' && now
  })
}

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

describe('a crisis, from the alarm to the report', () => {
  let parents: Space
  let crisis: Board
  let first: Run

  const advance = <Body = Detail>(as: string, id: string, body: object, key?: string) =>
    call<Body>('POST', `/api/platform/v1/runs/${id}/advance`, { as, body, ...(key === undefined ? {} : { key }) })
  const show = async (as: string, id: string) => (await call<Detail>('GET', `/api/platform/v1/runs/${id}`, { as })).body
  const crises = async (): Promise<Run[]> => (await ask<{ runs: Run[] }>('GET', `${boards}/${crisis.id}/runs`)).body.runs
  const steps = async (id: string) => {
    const { body } = await ask<{ entries: { type: string; elementId: string | null }[] }>('GET', `/api/platform/v1/runs/${id}/history`)
    return body.entries.map(({ type, elementId }) => [type, elementId].filter(Boolean).join(' '))
  }
  const restart = async () => {
    await school.fleet.daemon.kill('SIGKILL')
    await startDaemon()
  }

  /** The messages of the platform's account in a room, as the chat client of the member reads them. */
  async function fromThePlatform(member: string, { chat: { roomId } }: Space): Promise<string[]> {
    const path = `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/messages?dir=f&limit=500`
    const headers = { authorization: `Bearer ${sessionOf(member).matrixAccessToken}` }
    const { publicUrl } = member in others ? otherBox : school.box
    const { chunk } = (await (await fetch(publicUrl + path, { headers })).json()) as {
      chunk: { type: string; sender: string; content: { body: string } }[]
    }
    const written = chunk.filter(({ type, sender }) => type === 'm.room.message' && sender.startsWith('@tenantry-bot:'))
    return written.map(({ content }) => content.body)
  }

  /** The report of a run once it is stored, with the bytes of its files. */
  async function reportOf(as: string, runId: string) {
    const [{ id = '' } = {}] = (await show(as, runId)).reports
    const report = await eventually('the report is stored', async () => {
      const { body } = await call<Report>('GET', `/api/platform/v1/reports/${id}`, { as })
      return body.status === 'ready' && body
    })
    const bytes = async (fileId: string) => {
      const path = `/api/platform/v1/spaces/${report.spaceId}/files/${fileId}/content`
      const answer = await school.platform.send('GET', path, { token: sessionOf(as).token })
      expect(answer.status).toBe(200)
      return Buffer.from(await answer.arrayBuffer())
    }
    return { report, markdown: (await bytes(report.markdownFileId)).toString('utf8'), pdf: await bytes(report.pdfFileId) }
  }

  test('a teacher builds the board, and operators see it', async () => {
    parents = await aSpace('anna', 'Parents', 'GROUP')
    const body = { name: 'Crisis', spaceId: space.id, definition: crisisDefinition(parents.chat.roomId) }
    expect(await call('POST', boards, { as: 'ben', body })).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    crisis = (await ask<Board>('POST', boards, body)).body
    expect(await ask('POST', `${boards}/${crisis.id}/publish`)).toMatchObject({
      status: 200,
      body: { status: 'active', publishedVersion: 1 },
    })
    const { stdout } = await school.fleet.must('boards', 'show', crisis.id, '--tenant', slug)
    expect(stdout).toMatch(/Crisis active[\s\S]*alarm +form +What happened +Alarm +split\n/)
    expect(stdout).toMatch(/approve +checkpoint .* join \(approved\)\n[\s\S]*which +decision .* care \(expression\), report \(else\)\n/)
    expect(stdout).not.toContain(parents.chat.roomId)
  })

  test('a broken copy is not published: the check names the deadlock and the path to it', async () => {
    const definition = { ...crisis.definition, edges: [...crisis.definition.edges, rejectedToEnd], triggers: [] }
    const broken = (await ask<Board>('POST', boards, { name: 'Broken', spaceId: space.id, definition })).body
    const checked = await school.fleet.tenantry('boards', 'check', broken.id, '--tenant', slug)
    // Operators see which fault it is and where, and not the texts of the school.
    expect(checked.stdout).toMatch(/error +DEADLOCK +join /)
    expect(checked.stdout).not.toContain('All done')
    const { findings } = (await ask<{ findings: { message: string }[] }>('POST', `${boards}/${broken.id}/check`)).body
    expect(findings[0]?.message).toMatch(/^parallel_join "All done" waits for a branch that never comes/)
    expect(checked.stdout).toMatch(/Path to DEADLOCK at join:\n {2}start > alarm > .*split > .*approve > end/)
    expect(checked.exitCode).toBe(5)
    const refused = await ask<Problem>('POST', `${boards}/${broken.id}/publish`)
    expect(refused).toMatchObject({ status: 422, body: { code: 'BOARD_INVALID' } })
    expect(JSON.stringify(refused.body.violations)).toContain('DEADLOCK')
  })

  test('the word alarm starts one run, also when the daemon is killed right then', async () => {
    await write('anna', 'ALARM! Fire in the hall')
    await new Promise((next) => setTimeout(next, 20))
    await restart()
    await write('anna', 'alarm, all of you')
    // The lease of the killed process on the chat lasts half a minute.
    const started = eventually('the run is there', async () => (await crises()).length > 0, { timeoutMs: 60_000 })
    await Promise.all([started, anotherSchool()])
    first = (await crises())[0] as Run
    expect(first).toMatchObject({ trigger: 'chat', startedBy: school.userIds.get('anna'), spaceId: space.id, seq: 1, boardVersion: 1 })
  })

  test('wrong answers are each refused in its own way and move nothing', async () => {
    const { id } = first
    const answer = { elementId: 'alarm', action: 'submit', data: { place: 'Hall', injured: 0 } }
    const refused = async (as: string, body: object) => {
      const { status, body: told } = await advance<Problem>(as, id, body)
      return [status, told.code]
    }
    // A principal has no part in the run before the checkpoint opens, and is no member of its space.
    for (const name of ['petra', 'ben']) expect(await refused(name, answer)).toEqual([404, 'NOT_FOUND'])
    expect(await refused('anna', { ...answer, expectedSeq: 9 })).toEqual([409, 'RUN_CHANGED'])
    expect(await refused('anna', { ...answer, data: { ...answer.data, colour: 'red' } })).toEqual([400, 'VALIDATION'])
    expect(await refused('anna', { elementId: 'secure', action: 'complete' })).toEqual([409, 'ELEMENT_NOT_ACTIVE'])
    expect(await show('anna', id)).toMatchObject({ seq: 1, activeElementIds: ['alarm'] })

    const submitted = await advance('anna', id, answer, 'k1')
    await restart()
    expect(await advance('anna', id, answer, 'k1')).toMatchObject({ status: 200, body: submitted.body })
    expect(await refused('anna', answer)).toEqual([409, 'ELEMENT_NOT_ACTIVE'])
    expect((await show('anna', id)).activeElementIds.toSorted()).toEqual(['approve', 'secure'])
  })

  test('two different people approve; the late task of the custodian is reported, then escalated', async () => {
    const { id } = first
    const follow = (name: string, after?: string) => school.platform.follow(sessionOf(name).token, after)
    // From the first event on: the warning may have been sent while the daemon restarted.
    const [carl, petra, ben] = await Promise.all([follow('carl', '0'), follow('petra', '0'), follow('ben')])
    const approve = { elementId: 'approve', action: 'approve' }
    expect((await advance<Problem>('anna', id, approve)).body.code).toBe('FORBIDDEN')
    for (let times = 0; times < 2; times++) expect((await advance('petra', id, approve)).status).toBe(200)
    expect((await show('petra', id)).open.find(({ elementId }) => elementId === 'approve')).toMatchObject({ approvals: 1 })

    const { body: board } = await ask<Board>('GET', `${boards}/${crisis.id}`)
    const elements = board.definition.elements.map((one) =>
      one.id === 'report' ? { ...one, config: { ...one.config, template: 'Version 2 in {place}' } } : one,
    )
    const changed = { name: 'Crisis', spaceId: space.id, definition: { ...board.definition, elements }, version: 1 }
    expect(await ask('PUT', `${boards}/${crisis.id}`, changed)).toMatchObject({ status: 200, body: { version: 2, publishedVersion: 1 } })
    expect(await ask('POST', `${boards}/${crisis.id}/publish`)).toMatchObject({ status: 200, body: { publishedVersion: 2 } })

    expect((await advance('dirk', id, approve)).body.activeElementIds).toEqual(['secure'])
    const warning = await carl.until('sla.warning')
    expect(warning.data.ids).toMatchObject({ runId: id })
    await petra.until('sla.warning')
    const taskId = (await show('carl', id)).open[0]?.taskId as string
    await restart()
    const after = await follow('petra', warning.id)
    await after.until('task.escalated')
    const task = (await call<object>('GET', `/api/platform/v1/tasks/${taskId}`, { as: 'petra' })).body
    expect(task).toMatchObject({ status: 'open', assignedRole: 'principal', escalationLevel: 1 })
    expect(after.received.filter(({ event }) => event === 'sla.warning')).toEqual([])
    expect(ben.received.filter(({ data }) => data.ids.runId === id)).toEqual([])
    expect((await call('POST', `/api/platform/v1/tasks/${taskId}/cancel`, { as: 'petra' })).status).toBe(409)
    expect((await call('POST', `/api/platform/v1/tasks/${taskId}/complete`, { as: 'petra' })).status).toBe(200)
    await restart()
  })

  test('it ends as the version that it began with, with each step once and one message to the parents', async () => {
    expect(await show('anna', first.id)).toMatchObject({ status: 'completed', boardVersion: 1 })
    const taken = await steps(first.id)
    // The timers of the late task pass beside the approvals.
    expect(taken.filter((step) => step !== 'timer')).toEqual([
      ...['start', 'submit alarm', 'approve approve', 'approve approve', 'complete secure'],
    ])
    expect(taken).toHaveLength(7)
    await eventually('the parents have their message', async () => (await fromThePlatform('anna', parents)).length > 0)
    expect(await fromThePlatform('anna', parents)).toEqual(['Alarm in Hall: pick up your children.'])
    expect(await crises()).toHaveLength(1)
  })

  test('its report is in the space as Markdown and PDF, with every variable filled', async () => {
    const { report, markdown, pdf } = await reportOf('anna', first.id)
    expect(report).toMatchObject({ missing: [], spaceId: space.id })
    expect(markdown).toMatch(
      /^# Crisis report of Crisis\n\nPlace: Hall\. Injured people: 0\. Run run\S+, started at 20\S+ \S+ \(UTC\) by anna\.\n$/,
    )
    expect(markdown).not.toMatch(/[{}]|\(none\)/)
    expect([pdf.subarray(0, 5).toString(), pdf.length > 2_000]).toEqual(['%PDF-', true])
  })

  test('an archived board starts nothing, and its unfinished run ends', async () => {
    const start = () => ask<Run & Problem>('POST', `${boards}/${crisis.id}/runs`, {})
    const { id } = (await start()).body
    expect(await ask('POST', `${boards}/${crisis.id}/archive`)).toMatchObject({ status: 200, body: { status: 'archived' } })
    expect(await start()).toMatchObject({ status: 409, body: { code: 'BOARD_NOT_ACTIVE' } })
    await advance('anna', id, { elementId: 'alarm', action: 'submit', data: { place: 'Gym', injured: 2 } })
    for (const name of ['petra', 'dirk']) await advance(name, id, { elementId: 'approve', action: 'approve' })
    await advance('carl', id, { elementId: 'secure', action: 'complete' })
    expect((await advance('petra', id, { elementId: 'care', action: 'complete' })).body).toMatchObject({
      status: 'completed',
      boardVersion: 2,
    })
    expect((await reportOf('anna', id)).markdown).toBe('Version 2 in Gym')
    await write('anna', 'alarm')
  })

  test('exported and imported, it does the same in another tenant', async () => {
    const bundle = (await ask('GET', `${boards}/${crisis.id}/export`)).body
    const theirs = await aSpace('tina', 'Office', 'STAFF')
    const as = 'tina'
    const wrong = { bundle, bindings: { rooms: { room1: parents.chat.roomId } } }
    expect(await call('POST', `${boards}/import`, { as, body: wrong })).toMatchObject({ status: 400, body: { code: 'VALIDATION' } })
    const body = { bundle, bindings: { rooms: { room1: theirs.chat.roomId } } }
    const { id, ...draft } = (await call<Board>('POST', `${boards}/import`, { as, body })).body
    const saved = { name: 'Crisis', spaceId: theirs.id, definition: draft.definition, version: draft.version }
    expect((await call('PUT', `${boards}/${id}`, { as, body: saved })).status).toBe(200)
    expect((await call('POST', `${boards}/${id}/publish`, { as })).status).toBe(200)

    const run = (await call<Run>('POST', `${boards}/${id}/runs`, { as, body: {} })).body
    expect((await advance('anna', run.id, { elementId: 'alarm', action: 'submit', data: {} })).status).toBe(404)
    await advance('tina', run.id, { elementId: 'alarm', action: 'submit', data: { place: 'Yard', injured: 0 } })
    for (const name of ['paul', 'pia']) await advance(name, run.id, { elementId: 'approve', action: 'approve' })
    expect((await advance('kurt', run.id, { elementId: 'secure', action: 'complete' })).body.status).toBe('completed')
    expect((await reportOf('tina', run.id)).markdown).toBe('Version 2 in Yard')
    await eventually('the message is in their room', async () => (await fromThePlatform('tina', theirs)).length > 0)
    expect(await fromThePlatform('tina', theirs)).toEqual(['Alarm in Yard: pick up your children.'])
    expect(await fromThePlatform('anna', parents)).toEqual(['Hall', 'Gym'].map((place) => `Alarm in ${place}: pick up your children.`))
    expect(await crises()).toHaveLength(2)
  })
})

describe('the word alarm in the staff room', () => {
  beforeAll(async () => {
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
  })

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
    await eventually('the run is there', async () => (await runs()).length === 3, { everyMs: 100 })
    expect(performance.now() - sentMs).toBeLessThan(2_000)
  })

  test('starts the run once, also when the daemon is killed right then', async () => {
    for (const delayMs of [0, 60]) {
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
