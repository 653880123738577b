import { expect, test } from 'vitest'
import { automationContract, eventAliasName } from '../../../src/core/automation/index.ts'
import { type AutomationActor, isoIn } from '../../../src/core/kit/index.ts'
import { automationFeature } from '../../../src/daemon/automation/index.ts'
import { oncePerKey } from '../../../src/daemon/automation/once.ts'
import { eventsAfter } from '../../../src/daemon/db/index.ts'
import { type AutomationWorld, anAutomationWorld } from '../../support/automation-world.ts'
import { onBothDialects } from '../../support/databases.ts'

onBothDialects('automation', (fresh) => {
  const room = async () => {
    const one = await anAutomationWorld(await fresh())
    const key = await one.aKey()
    const { tenantId } = one
    /** A call of the tool for its tenant. */
    const post = (path: string, body: object, headers: Record<string, string> = {}) =>
      one.call(key, `POST ${path}`, { tenantId, ...body }, headers)
    const get = (path: string) => one.call(key, `GET ${path}${path.includes('?') ? '&' : '?'}tenantId=${tenantId}`)
    return { ...one, key, post, get }
  }
  type Room = Awaited<ReturnType<typeof room>>
  const audited = async ({ db }: AutomationWorld) => {
    const entries = await db.selectFrom('audit').select(['actor', 'action']).orderBy('seq').execute()
    return entries.filter(({ action }) => /^(automation|space)\./.test(action))
  }
  const tasks = [
    { id: 'a', title: 'Lock the doors', assignedRole: 'CUSTODIAN' },
    { id: 'b', title: 'Call the police', assignedRole: 'SCHOOL_PRINCIPAL', dueAt: '2026-01-05T04:00:00+01:00' },
  ]

  test('tasks of an event are created once by their ids; roles that nobody has are warnings', async () => {
    const one = await room()
    await one.aUserWith('cuno', 'custodian')
    const first = await one.post('/events/e1/create-tasks', { tasks: [...tasks, { id: 'c', title: 'x', assignedRole: 'WIZARD' }] })
    expect(first.status).toBe(200)
    expect(first.json.created).toBe(3)
    expect(first.json.tasks[0]).toMatchObject({ externalId: 'a', eventId: 'e1', status: 'open', assignedRole: 'CUSTODIAN' })
    expect(first.json.warnings).toEqual([
      { path: 'tasks.1.assignedRole', reason: 'no active user has the role SCHOOL_PRINCIPAL' },
      { path: 'tasks.2.assignedRole', reason: 'the role WIZARD does not exist; no user can have it' },
    ])
    // The spec's name of a role is an alias of the one in the role file: its holders get the task.
    expect(first.json.tasks[1]).toMatchObject({ externalId: 'b', assignedRole: 'principal' })
    await one.aUserWith('petra', 'principal')
    const again = await one.post('/events/e1/create-tasks', { tasks })
    expect(again.json).toMatchObject({ created: 0, warnings: [] })
    expect(again.json.tasks.map(({ id }: { id: string }) => id)).toEqual(first.json.tasks.slice(0, 2).map(({ id }: { id: string }) => id))
    const other = await one.post('/events/e1/create-tasks', { tasks: [{ ...tasks[0], assignedRole: 'WIZARD' }] })
    expect(other.json.tasks[0]).toMatchObject({ externalId: 'a', assignedRole: 'CUSTODIAN' })
    const reason = 'the task exists and keeps the role CUSTODIAN. fix: escalate it to another role'
    expect(other.json.warnings).toEqual([{ path: 'tasks.0.assignedRole', reason }])
    await one.db.updateTable('tasks').set({ status: 'done' }).where('external_id', '=', 'c').execute()
    const open = await one.get('/events/e1/tasks?limit=1')
    expect(open.json.tasks).toHaveLength(1)
    const rest = await one.get(`/events/e1/tasks?cursor=${encodeURIComponent(open.json.nextCursor)}`)
    expect(rest.json).toMatchObject({ tasks: [{}], nextCursor: null })
    expect((await one.get('/events/none/tasks')).json.code).toBe('NOT_FOUND')
  })

  test('a task is escalated to a level or a role, once per key', async () => {
    const one = await room()
    const made = await one.post('/events/e1/create-tasks', { tasks })
    const path = `/tasks/${made.json.tasks[0].id}/escalate`
    const first = await one.post(path, {}, { 'idempotency-key': 'k1' })
    const again = await one.post(path, {}, { 'idempotency-key': 'k1' })
    expect(first.json.task).toMatchObject({ escalationLevel: 1 })
    expect(again.json).toEqual(first.json)
    const next = await one.post(path, { level: 3, assignedRole: 'PRINCIPAL' })
    expect(next.json).toMatchObject({ task: { escalationLevel: 3, assignedRole: 'PRINCIPAL' }, warnings: [{ path: 'assignedRole' }] })
    expect((await one.post(path, { level: 2 }, { 'idempotency-key': 'k1' })).json.code).toBe('KEY_REUSED')
    await one.db.updateTable('tasks').set({ status: 'done' }).where('id', '=', made.json.tasks[0].id).execute()
    expect((await one.post(path, {})).json.code).toBe('INVALID_TRANSITION')
  })

  test('one key serves for calls of different tasks and events; two calls of one path need two', async () => {
    const one = await room()
    const key = { 'idempotency-key': '7' }
    const made = await one.post('/events/e1/create-tasks', { tasks }, key)
    const escalate = async ({ id }: { id: string }) => (await one.post(`/tasks/${id}/escalate`, {}, key)).json
    for (const task of made.json.tasks) expect(await escalate(task)).toMatchObject({ task: { id: task.id, escalationLevel: 1 } })
    expect(await escalate(made.json.tasks[0])).toMatchObject({ task: { escalationLevel: 1 } })
    expect((await one.post('/events/e2/create-tasks', { tasks }, key)).json).toMatchObject({ created: 2 })
    for (const event of ['e1', 'e2']) await one.post(`/events/${event}/create-room`, { name: 'Alarm' }, key)
    const notify = async (event: string, name: string) =>
      (await one.post(`/events/${event}/notify-matrix`, { body: 'Leave!' }, { 'idempotency-key': name })).json.eventId
    const sent = [await notify('e1', '7-a'), await notify('e2', '7-a'), await notify('e1', '7-b'), await notify('e1', '7-a')]
    expect(new Set(sent).size).toBe(3)
    expect(sent[3]).toBe(sent[0])
  })

  test('an event has one room; its members join, and messages are sent once per key', async () => {
    const one = await room()
    const [anna] = [await one.aUserWith('anna', 'teacher'), await one.aUserWith('cuno', 'custodian')]
    expect((await one.post('/events/e1/notify-matrix', { body: 'x' })).json).toMatchObject({ code: 'NO_ROOM', retryable: false })
    const made = await one.post('/events/e1/create-room', { name: 'Alarm', userIds: [anna.userId], roles: ['CUSTODIAN'] })
    expect(made.json).toMatchObject({ created: true, members: 2, warnings: [] })
    await one.work()
    const { roomId } = made.json
    expect(one.chat.rooms.joined(roomId)).toEqual(['@anna:acme.example', '@cuno:acme.example'])
    one.chat.rooms.leave(roomId, '@cuno:acme.example')
    expect((await one.post('/events/e1/create-room', { name: 'Another' })).json).toMatchObject({ roomId, created: false, members: 2 })
    await one.work()
    expect(one.chat.rooms.joined(roomId)).toEqual(['@anna:acme.example'])

    const long = await one.post('/events/e1/notify-matrix', { body: 'x'.repeat(20_000), html: 'é'.repeat(20_001) })
    expect(long).toMatchObject({ status: 413, json: { code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining('60000') } })
    const message = { body: 'Leave the building', html: '<b>Leave the building</b>' }
    const sent = await one.post('/events/e1/notify-matrix', message, { 'idempotency-key': 'm1' })
    expect((await one.post('/events/e1/notify-matrix', message, { 'idempotency-key': 'm1' })).json).toEqual(sent.json)
    expect(sent.json.eventId).toMatch(/^\$/)
    await one.post('/matrix/send', { roomId, body: 'Leave the building' })
    await one.post('/matrix/send', { roomId, body: 'Leave the building' })
    const sender = '@tenantry-bot:acme.example'
    expect(one.chat.rooms.messages()).toEqual(Array.from({ length: 3 }, () => ({ roomId, sender, text: 'Leave the building' })))
    expect(await audited(one)).toEqual([{ actor: 'automation:n8n', action: 'automation.room-created' }])
    const events = (await eventsAfter(one.db, { stream: `tenant:${one.tenantId}`, after: 0 })).filter(({ eventType }) =>
      /^(crisis|message)/.test(eventType),
    )
    expect(events.map(({ eventType, payload }) => [eventType, (payload as { eventId: string }).eventId])).toEqual([
      ['crisis.updated', 'e1'],
      ['crisis.updated', 'e1'],
      ['message.notice', 'e1'],
      ['message.notice', 'e1'],
      ['message.notice', 'e1'],
    ])
    for (const { audience } of events) expect(audience).toEqual({ users: expect.arrayContaining([expect.any(String)]) })
  })

  test.each(['createRoom', 'send'])('a lost answer of %s does nothing twice', async (lost) => {
    const one = await room()
    if (lost === 'send') await one.post('/events/e1/create-room', { name: 'Alarm' })
    if (lost === 'send') await one.post('/events/e1/notify-matrix', { body: 'first' })
    one.chat.state.lose = new RegExp(lost)
    const [path, body] = lost === 'send' ? ['notify-matrix', { body: 'second' }] : ['create-room', { name: 'Alarm' }]
    const failed = await one.post(`/events/e1/${path}`, body, { 'idempotency-key': 'k' })
    expect(failed.json).toMatchObject({ code: 'HOMESERVER_UNREACHABLE', retryable: true })
    expect((await one.post(`/events/e1/${path}`, body, { 'idempotency-key': 'k' })).status).toBe(200)
    expect(one.chat.rooms.ids()).toHaveLength(1)
    expect(one.chat.rooms.messages()).toHaveLength(lost === 'send' ? 2 : 0)
  })

  test('a room that a slow chat server still creates is awaited; one whose creation was abandoned is replaced', async () => {
    const one = await room()
    const { rooms } = one.chat
    const create = async (eventId: string) => (await one.post(`/events/${eventId}/create-room`, { name: 'Alarm' })).json
    const aliasOf = (eventId: string) => `#${eventAliasName({ tenantId: one.tenantId, eventId })}:acme.example`
    const begun = rooms.beginRoom(aliasOf('e1'), one.clock.now().getTime())
    expect(await create('e1')).toMatchObject({ code: 'HOMESERVER_UNREACHABLE', message: expect.stringContaining('still creating') })
    begun.finish()
    expect(await create('e1')).toMatchObject({ roomId: begun.roomId, created: true })
    const abandoned = rooms.beginRoom(aliasOf('e2'), one.clock.now().getTime() - 3_600_000)
    expect(await create('e2')).toMatchObject({ created: true, roomId: expect.not.stringMatching(abandoned.roomId) })
    expect(rooms.ids()).toHaveLength(3)
  })

  test('a fenced box takes no message, and the answer says when to come back', async () => {
    const one = await room()
    const { json } = await one.post('/events/e1/create-room', { name: 'Alarm' })
    one.chat.state.fence = true
    for (const [path, body] of [
      ['/events/e1/notify-matrix', { body: 'x' }],
      ['/events/e2/create-room', { name: 'x' }],
      ['/matrix/send', { roomId: json.roomId, body: 'x' }],
    ] as const) {
      const answer = await one.post(path, body)
      expect(answer.json).toMatchObject({ code: 'HOMESERVER_UNREACHABLE', retryable: true })
      expect(answer.status).toBe(503)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    one.chat.state.fence = false
    expect((await one.post('/events/e2/create-room', { name: 'x' })).json).toMatchObject({ created: true })
  })

  test('a room that a restore took away is made again', async () => {
    const one = await room()
    const restore = one.chat.rooms.backup()
    const before = await one.post('/events/e1/create-room', { name: 'Alarm' })
    restore()
    expect((await one.post('/events/e1/notify-matrix', { body: 'x' })).json.code).toBe('NO_ROOM')
    const after = await one.post('/events/e1/create-room', { name: 'Alarm' })
    expect(after.json.created).toBe(true)
    expect(after.json.roomId).not.toBe(before.json.roomId)
    expect((await one.post('/events/e1/notify-matrix', { body: 'x' })).status).toBe(200)
  })

  test('spaces, their members, users and rooms', async () => {
    const one = await room()
    const anna = await one.aUserWith('anna', 'teacher')
    const body = { name: 'Crisis team', type: 'CRISIS', visibility: 'PRIVATE' }
    const made = await one.post('/spaces/create', body, { 'idempotency-key': 's1' })
    expect(made.status).toBe(201)
    expect((await one.post('/spaces/create', body, { 'idempotency-key': 's1' })).json).toEqual(made.json)
    const spaceId = made.json.id
    const member = { userId: anna.userId, role: 'owner' }
    expect((await one.post(`/spaces/${spaceId}/members`, member)).json).toMatchObject(member)
    expect((await one.post(`/spaces/${spaceId}/members`, { userId: anna.userId })).json.code).toBe('CONFLICT') // its last owner
    await one.work()
    const spaces = await one.get('/spaces')
    expect(spaces.json).toMatchObject({ spaces: [{ id: spaceId, name: 'Crisis team', chat: { status: 'ready' } }], nextCursor: null })
    await one.post('/events/e1/create-room', { name: 'Alarm' })
    const first = await one.get('/matrix/rooms?limit=1')
    const second = await one.get(`/matrix/rooms?limit=1&cursor=${encodeURIComponent(first.json.nextCursor)}`)
    expect([...first.json.rooms, ...second.json.rooms]).toMatchObject([
      { kind: 'event', eventId: 'e1', name: 'Alarm' },
      { kind: 'space', spaceId, roomId: spaces.json.spaces[0].chat.roomId },
    ])
    expect(second.json.nextCursor).toBe(null)
    // The bot stays in the room of a space, whatever the reconcile finds there.
    const { roomId } = second.json.rooms[0]
    await one.post('/matrix/send', { roomId, body: 'hello' })
    await one.post(`/spaces/${spaceId}/members`, { userId: (await one.aUserWith('ben', 'member')).userId })
    await one.work()
    expect(one.chat.rooms.stateOf(roomId, 'm.room.member', '@tenantry-bot:acme.example')).toEqual({ membership: 'join' })
    expect((await one.get('/users')).json.users).toMatchObject([
      { id: anna.userId, localpart: 'anna', matrixUserId: '@anna:acme.example', roles: ['teacher'], status: 'active' },
      { localpart: 'ben' },
    ])
    expect((await audited(one)).map(({ action }) => action)).toEqual([
      ...['space.created', 'space.member-added', 'automation.room-created', 'space.member-added'],
    ])
  })

  test('a report lists the tasks of its event, and is stored once per key', async () => {
    const one = await room()
    await one.post('/events/e1/create-tasks', { tasks })
    const space = await one.post('/spaces/create', { name: 'Crisis', type: 'CRISIS', visibility: 'PRIVATE' })
    const plain = await one.post('/events/e1/generate-report', {})
    expect(plain.json).toMatchObject({ title: 'Report e1', missing: [], files: null })
    expect(plain.json.markdown).toContain('- **Lock the doors**: open, role CUSTODIAN')
    const template = '# {place}\n\n{taskCount}, {injured} injured, {openTaskCount} open'
    const body = { spaceId: space.json.id, title: 'Alarm', template, variables: { place: 'Hall' } }
    const made = await one.post('/events/e1/generate-report', body, { 'idempotency-key': 'r1' })
    expect(made.json).toMatchObject({ markdown: '# Hall\n\n2, (none) injured, 2 open', missing: ['injured'] })
    expect((await one.post('/events/e1/generate-report', body, { 'idempotency-key': 'r1' })).json).toEqual(made.json)
    expect((await one.rows()).map(({ name }) => name).toSorted()).toEqual(['Alarm.md', 'Alarm.pdf'])
    const bomb = { template: '{x}'.repeat(10_000), variables: { x: 'y'.repeat(20_000) } }
    expect((await one.post('/events/e1/generate-report', bomb)).json.code).toBe('VALIDATION')
  })

  test('a report counts all tasks of its event, and lists the newest 1,000', async () => {
    const one = await room()
    await one.post('/events/e1/create-tasks', { tasks })
    const first = await one.db.selectFrom('tasks').selectAll().where('event_id', '=', 'e1').executeTakeFirstOrThrow()
    const older = (n: number) => ({ ...first, id: `tsk_${n}`, created_at: '2020-01-01T00:00:00.000Z', external_id: null })
    const many = Array.from({ length: 1_100 }, (_, n) => ({ ...older(n), title: 'Older', status: n < 100 ? 'open' : 'done' }) as const)
    for (let n = 0; n < many.length; n += 500)
      await one.db
        .insertInto('tasks')
        .values(many.slice(n, n + 500))
        .execute()
    const { json } = await one.post('/events/e1/generate-report', {})
    expect(json.markdown).toContain('Tasks: 1102, unfinished: 102.')
    expect(json.markdown).toContain('Lock the doors')
    expect(json.markdown.match(/\*\*Older/g)).toHaveLength(998)
    expect(json.markdown).toContain('The newest 1000 of 1102 tasks are listed.')
  })

  test('the chat token of the automation user is the same until it is rotated', async () => {
    const one = await room()
    const first = await one.get('/matrix/credentials')
    expect(first.json).toMatchObject({ userId: '@tenantry.automation:acme.example', homeserver: 'acme.example' })
    expect(first.headers.get('cache-control')).toBe('no-store')
    expect((await one.get('/matrix/credentials')).json).toEqual(first.json)
    expect(one.chat.accounts.get(first.json.userId)?.admin).toBe(false)
    expect(JSON.stringify(await one.db.selectFrom('automation_credentials').selectAll().execute())).not.toContain(first.json.accessToken)
    expect((await one.call(undefined, 'POST /api/admin/v1/tenants/acme/automation/rotate')).status).toBe(200)
    expect(one.chat.sessions.has(first.json.accessToken)).toBe(false)
    const next = await one.get('/matrix/credentials')
    expect(next.json.accessToken).not.toBe(first.json.accessToken)
    // A restore of the box forgets the session; the next call makes another.
    one.chat.sessions.clear()
    expect((await one.get('/matrix/credentials')).json.accessToken).not.toBe(next.json.accessToken)
    const [issued, rotated] = ['automation.credentials-issued', 'automation.credentials-rotated']
    expect((await audited(one)).map(({ action }) => action)).toEqual([issued, issued, rotated, issued, issued])
  })

  test('calls count on the budget of the tenant that they name', async () => {
    const one = await room()
    await one.get('/spaces')
    await one.post('/events/e1/create-tasks', { tasks })
    await one.get('/users?limit=x')
    expect(one.passed).toEqual([one.tenantId, one.tenantId, one.tenantId])
  })

  test('the record of an event and its room is deleted after a year', async () => {
    const one = await room()
    await one.post('/events/e1/create-room', { name: 'Alarm' })
    const clean = async () => {
      for (const job of automationFeature.cleanup?.(one as never) ?? []) await job(new AbortController().signal)
      const rooms = await one.db.selectFrom('automation_rooms').select('event_id').where('tenant_id', '=', one.tenantId).execute()
      return rooms.length
    }
    await one.clock.advance(364 * 86_400_000)
    expect(await clean()).toBe(1)
    await one.clock.advance(86_400_000)
    expect(await clean()).toBe(0)
  })

  test('a failed call is not remembered, a running one is not repeated, and a day later a key is new', async () => {
    const one = await room()
    const headers = { 'idempotency-key': 'k1' }
    const send = () => one.post('/events/e1/create-tasks', { tasks }, headers)
    expect((await one.post('/events/e1/create-tasks', { tasks: [{ ...tasks[0], spaceId: one.other.spaceId }] }, headers)).status).toBe(404)
    expect((await send()).json.created).toBe(2)
    expect((await send()).json.created).toBe(2)
    await one.db.updateTable('automation_calls').set({ answer: null }).execute()
    await one.clock.advance(19_000) // its process died
    expect((await send()).json).toMatchObject({ code: 'CONFLICT' })
    await one.clock.advance(1_000)
    expect((await send()).json.created).toBe(0)
    await one.clock.advance(25 * 60 * 60_000)
    expect((await one.post('/events/e1/create-tasks', { tasks: tasks.slice(1) }, headers)).status).toBe(200)
    expect((await one.post('/events/e1/create-tasks', { tasks }, { 'idempotency-key': 'with space' })).json.code).toBe('VALIDATION')
  })

  test('a call has its key as long as it runs', async () => {
    const one = await room()
    const call = { actor: { tenantId: one.tenantId } as AutomationActor, operation: 'slow', key: 'k1', params: null, body: {} }
    let finish: (answer: string) => void = () => undefined
    const work = () =>
      new Promise<string>((done) => {
        finish = done
      })
    const idle = one.clock.sleepers()
    const isLocked = async () => {
      const row = await one.db.selectFrom('automation_calls').select('lock_until').executeTakeFirst()
      return row?.lock_until === isoIn(one.clock, 20_000) && one.clock.sleepers() === idle + 1
    }
    const first = oncePerKey(one, call, work)
    const again = () => oncePerKey(one, call, async () => 'second')
    await expect.poll(isLocked).toBe(true)
    for (let renewal = 0; renewal < 6; renewal++) {
      await one.clock.advance(5_000)
      await expect.poll(isLocked).toBe(true)
    }
    await expect(again()).rejects.toMatchObject({ code: 'CONFLICT' })
    finish('first')
    expect([await first, await again(), one.clock.sleepers()]).toEqual(['first', 'first', idle])
  })

  test('a call that stalled while another took it over has no second effect', async () => {
    const one = await room()
    const call = { actor: { tenantId: one.tenantId } as AutomationActor, operation: 'x', key: 'stalled', params: null, body: {} }
    const effects: string[] = []
    let goOn: (value?: unknown) => void = () => undefined
    const stalled = new Promise((resolve) => {
      goOn = resolve
    })
    const work = (name: string, wait?: Promise<unknown>) =>
      oncePerKey<string>(one, call, async ({ store }) => {
        await wait
        await one.db.transaction().execute(async (tx) => {
          await store(tx, name)
          effects.push(name)
        })
        return name
      })
    const first = work('first', stalled)
    await expect.poll(() => one.db.selectFrom('automation_calls').select('key_hash').execute()).toHaveLength(1)
    await one.db
      .updateTable('automation_calls')
      .set({ lock_until: isoIn(one.clock, -1) })
      .execute() // as after a stall of 20 s
    expect(await work('second')).toBe('second')
    goOn()
    await expect(first).rejects.toMatchObject({ code: 'CONFLICT' })
    expect([effects, await work('third')]).toEqual([['second'], 'second'])
  })

  test('a day later a key makes the space of its new request, not the former one', async () => {
    const one = await room()
    const headers = { 'idempotency-key': 'daily' }
    const make = async (name: string) =>
      (await one.post('/spaces/create', { name, type: 'STAFF', visibility: 'PRIVATE' }, headers)).json as { id: string; name: string }
    const first = await make('Monday')
    expect(await make('Monday')).toEqual(first)
    await one.clock.advance(25 * 60 * 60_000)
    expect((await make('Tuesday')).name).toBe('Tuesday')
  })

  test('a day later the same request with the same key is a new call: another space, another report', async () => {
    const one = await room()
    const headers = { 'idempotency-key': 'daily' }
    const make = async () => (await one.post('/spaces/create', { name: 'Hall', type: 'STAFF', visibility: 'PRIVATE' }, headers)).json.id
    const spaceId = (await one.post('/spaces/create', { name: 'Reports', type: 'STAFF', visibility: 'PRIVATE' })).json.id
    await one.post('/events/e1/create-tasks', { tasks })
    const report = async () => (await one.post('/events/e1/generate-report', { spaceId }, headers)).json.files
    const first = [await make(), await report()]
    expect([await make(), await report()]).toEqual(first)
    await one.clock.advance(25 * 60 * 60_000)
    const second = [await make(), await report()]
    expect(second[0]).not.toBe(first[0])
    expect(second[1]).toMatchObject({ spaceId })
    expect(second[1].markdownFileId).not.toBe(first[1].markdownFileId)
    expect([await make(), await report()]).toEqual(second)
  })

  test('a repeated call whose space was deleted meanwhile is refused, and a failure after a failure is repeated with its ids', async () => {
    const one = await room()
    const headers = { 'idempotency-key': 'k1' }
    const make = () => one.post('/spaces/create', { name: 'Hall', type: 'STAFF', visibility: 'PRIVATE' }, headers)
    const first = await make()
    // Its process died before the answer was stored, twice.
    for (let n = 0; n < 2; n++) {
      await one.db.updateTable('automation_calls').set({ answer: null }).execute()
      await one.clock.advance(3 * 60_000)
      expect((await make()).json.id).toBe(first.json.id)
    }
    await one.db.updateTable('automation_calls').set({ answer: null }).execute()
    await one.db
      .updateTable('spaces')
      .set({ deleted_at: isoIn(one.clock, 0) })
      .where('id', '=', first.json.id)
      .execute()
    await one.clock.advance(3 * 60_000)
    expect((await make()).json).toMatchObject({ code: 'KEY_REUSED', message: expect.stringContaining('which was deleted') })
  })

  test('a call that names no tenant, or a lookup with two parameters, says what to pass', async () => {
    const one = await room()
    const { tenantId } = one
    const message = async (line: string, body?: object) => (await one.call(one.key, line, body)).json.message
    expect((await one.call(one.key, 'GET /tenant-info')).json, 'the only tenant of its key').toMatchObject({ tenantId })
    expect(await message('GET /events/e1/tasks')).toBe('tenantId: is missing')
    expect(await message('GET /events/e1/tasks?slug=one')).toBe('tenantId: is missing')
    expect(await message(`GET /tenant-info?tenantId=${tenantId}&slug=one`)).toContain('pass exactly one of tenantId, slug, chatDomain')
    expect(await message('POST /spaces/create', { name: 'Hall' })).toContain('tenantId: is missing')
    expect(await message('GET /tenant-info?slug=')).toContain('slug: must be the slug of a tenant')
  })

  test('ids of another tenant are refused on every path, and nothing of it changes', async () => {
    const one = await room()
    const { other, tenantId } = one
    const all = (await rowsOfOther(one)).sort()
    // Another tenant's id: every path of the contract.
    for (const { method, path } of Object.values(automationContract)) {
      const filled = path.replace(/:(\w+)/g, (_, name: string) => other[name as 'spaceId'])
      const names = path.endsWith('/tenant-info')
        ? { tenantId: other.tenantId, slug: 'other', chatDomain: 'other.example' }
        : { tenantId: other.tenantId }
      for (const [name, value] of Object.entries(names)) {
        const answer =
          method === 'GET'
            ? await one.call(one.key, `GET ${filled}?${name}=${value}`)
            : await one.call(one.key, `POST ${filled}`, { [name]: value, ...bodyOf(path, other) })
        expect({ path, status: answer.status, code: answer.json.code }).toEqual({ path, status: 403, code: 'FORBIDDEN' })
      }
    }
    // The own tenant, with ids of another one in path and body.
    const rows = [
      ['POST', `/tasks/${other.taskId}/escalate`, {}, 'NOT_FOUND'],
      ['POST', `/spaces/${other.spaceId}/members`, { userId: other.userId }, 'NOT_FOUND'],
      ['POST', '/matrix/send', { roomId: other.roomId, body: 'x' }, 'NOT_FOUND'],
      ['POST', '/matrix/send', { roomId: '!event:other.example', body: 'x' }, 'NOT_FOUND'],
      ['POST', '/events/e1/create-room', { name: 'x', userIds: [other.userId] }, 'NOT_FOUND'],
      ['POST', '/events/e1/create-tasks', { tasks: [{ ...tasks[0], spaceId: other.spaceId }] }, 'NOT_FOUND'],
      ['POST', `/events/${other.eventId}/notify-matrix`, { body: 'x' }, 'NO_ROOM'],
      ['POST', `/events/${other.eventId}/generate-report`, {}, 'NOT_FOUND'],
      ['GET', `/events/${other.eventId}/tasks`, undefined, 'NOT_FOUND'],
    ] as const
    for (const [method, path, body, code] of rows) {
      const answer = method === 'GET' ? await one.get(path) : await one.post(path, body ?? {})
      expect({ path, code: answer.json.code }).toEqual({ path, code })
    }
    const own = await one.post('/spaces/create', { name: 'Mine', type: 'GROUP', visibility: 'PUBLIC' })
    expect((await one.post(`/spaces/${own.json.id}/members`, { userId: other.userId })).json.code).toBe('NOT_FOUND')
    // A selector smuggled beside the tenant of the key.
    expect((await one.call(one.key, `GET /spaces?slug=acme&tenantId=${other.tenantId}`)).status).toBe(400)
    expect((await one.call(one.key, `GET /spaces?tenantId=${tenantId}&tenantId=${other.tenantId}`)).status).toBe(400)
    const listed = [await one.get('/spaces'), await one.get('/users'), await one.get('/matrix/rooms')].map(({ json }) => json)
    expect(JSON.stringify(listed)).not.toMatch(/other|Theirs/)
    expect((await rowsOfOther(one)).sort()).toEqual(all)
  })

  test('an event of the same id in two tenants is two events', async () => {
    const one = await room()
    const made = await one.post(`/events/${one.other.eventId}/create-tasks`, { tasks: [{ ...tasks[0], id: 't1' }] })
    expect(made.json.created).toBe(1)
    expect((await one.get(`/events/${one.other.eventId}/tasks`)).json.tasks).toHaveLength(1)
    expect((await one.post(`/events/${one.other.eventId}/create-room`, { name: 'Mine' })).json).toMatchObject({ created: true })
  })

  test('no callback deletes', () => {
    expect(new Set(Object.values(automationContract).map(({ method }) => method))).toEqual(new Set(['GET', 'POST']))
    expect(Object.keys(automationContract)).toHaveLength(14)
  })

  const bodyOf = (path: string, other: Room['other']) => ({
    ...(path.endsWith('create-tasks') ? { tasks } : {}),
    ...(path.endsWith('create-room') ? { name: 'x' } : {}),
    ...(/notify-matrix|send/.test(path) ? { body: 'x' } : {}),
    ...(path.endsWith('send') ? { roomId: other.roomId } : {}),
    ...(path.endsWith('spaces/create') ? { name: 'x', type: 'GROUP', visibility: 'PUBLIC' } : {}),
    ...(path.endsWith('members') ? { userId: other.userId } : {}),
  })
  async function rowsOfOther({ db, other }: Room): Promise<string[]> {
    const tables = ['tasks', 'spaces', 'users', 'space_members', 'automation_rooms', 'automation_calls', 'files'] as const
    const rows = await Promise.all(
      tables.map((table) => db.selectFrom(table).selectAll().where('tenant_id', '=', other.tenantId).execute()),
    )
    return rows.flat().map((row) => JSON.stringify(row))
  }
})
