import { expect, onTestFinished, test } from 'vitest'
import { answerEveryMs } from '../../../../src/core/boards/index.ts'
import { isoIn } from '../../../../src/core/kit/index.ts'
import { acquireLease, type Db, type Tx } from '../../../../src/daemon/db/index.ts'
import { answerJobs } from '../../../../src/daemon/flows/triggers/answer-room.ts'
import { restartReader } from '../../../../src/daemon/flows/triggers/chat-readers.repo.ts'
import { chatReaders } from '../../../../src/daemon/flows/triggers/chat-readers.ts'
import { failedStartJobs } from '../../../../src/daemon/flows/triggers/failed-starts.ts'
import { readChatOnce } from '../../../../src/daemon/flows/triggers/read-chat.ts'
import { readerRestartListener } from '../../../../src/daemon/flows/triggers/restart-listener.ts'
import type { Command } from '../../../../src/daemon/hosts/index.ts'
import { insertUser } from '../../../../src/daemon/users/users.repo.ts'
import { drainJobs, runLoop } from '../../../../src/daemon/work/index.ts'
import { systemClock } from '../../../../src/node/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTriggersWorld, type TriggersWorld } from '../../../support/triggers-world.ts'

const alarm = { id: 'alarm', kind: 'chat', phrases: ['alarm'] }

onBothDialects('chat triggers', (fresh) => {
  /** A school with a staff room, in which Anna may write. */
  async function school(db?: Db) {
    const one = await aTriggersWorld(db ?? (await fresh()))
    const anna = await one.aUser('anna')
    const space = await one.aSpace(anna, { name: 'Staff', type: 'STAFF' })
    await one.work()
    const { chat_room_id } = await one.db.selectFrom('spaces').select('chat_room_id').where('id', '=', space.id).executeTakeFirstOrThrow()
    const roomId = chat_room_id as string
    const lease = await acquireLease(one, { name: `triggers.chat:${one.tenantId}`, owner: one.owner, ttlMs: 60_000 })
    if (!lease) throw new Error('somebody has the lease')
    const signal = new AbortController().signal
    const read = (deps: Partial<TriggersWorld> = {}) => readChatOnce({ ...one, ...deps }, { tenantId: one.tenantId, lease, signal })
    const say = (body: string, given: Partial<Parameters<typeof one.chat.timeline.write>[1]> = {}) =>
      one.chat.timeline.write(roomId, { sender: one.chat.id('anna'), body, sentAt: one.clock.now().getTime(), ...given })
    const publish = (change: object = {}, given: Parameters<typeof one.publish>[1] = {}) =>
      one.publish([{ ...alarm, ...change }], { spaceId: space.id, ...given })
    /** Runs the jobs of triggers. */
    const work = () => drainJobs({ db: one.db, clock: one.clock, log: one.log, handlers: { ...answerJobs(one), ...failedStartJobs(one) } })
    const alerts = async () => (await one.db.selectFrom('alerts').select('key').orderBy('id').execute()).map(({ key }) => key.split(':')[1])
    return { ...one, anna, spaceId: space.id, roomId, read, say, publishAlarm: publish, alerts, work }
  }
  type School = Awaited<ReturnType<typeof school>>
  const eventIds = ({ started }: School) => started.map(({ trigger }) => trigger.eventId)

  test('a phrase starts one run in the space of the room, with sender and event id but not the text', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    const id = one.say('ALARM in the gym!')
    await one.read()
    expect(one.started).toEqual([
      {
        ...{ tenantId: one.tenantId, boardId: 'brd_1', spaceId: one.spaceId, variables: {}, startedBy: one.anna.userId },
        trigger: { type: 'chat', occurrence: `chat:${id}`, sender: one.anna.userId, eventId: id },
      },
    ])
    const tables = await Promise.all(
      (['trigger_occurrences', 'chat_readers', 'board_triggers'] as const).map((name) => one.db.selectFrom(name).selectAll().execute()),
    )
    expect(JSON.stringify(tables)).not.toContain('gym')
  })

  test('a message right after the publication counts, one before it does not', async () => {
    const one = await school()
    one.say('alarm')
    await one.clock.advance(1_000)
    await one.publishAlarm({ cooldownMinutes: 0 })
    const id = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('a message before the publication does not count, even if the chat server answers with an earlier token', async () => {
    const one = await school()
    await one.publishAlarm({ cooldownMinutes: 0 })
    await one.read()
    const earlier = await one.db.selectFrom('chat_readers').select(['since', 'box_id']).executeTakeFirstOrThrow()
    one.say('alarm')
    await one.clock.advance(1_000)
    await one.db.deleteFrom('chat_readers').execute()
    await one.publishAlarm({ cooldownMinutes: 0 })
    // Synapse answers the same first request from its cache for two minutes.
    await one.db.updateTable('chat_readers').set(earlier).execute()
    const id = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('the token commits with the runs: a reader that is killed starts each run once', async () => {
    const one = await school()
    await one.publishAlarm({ cooldownMinutes: 0 })
    await one.read()
    const id = one.say('alarm')
    await expect(one.read({ startRun: () => Promise.reject(new Error('killed')) })).rejects.toThrow('killed')
    const { since } = await one.db.selectFrom('chat_readers').select('since').executeTakeFirstOrThrow()
    await one.read()
    await one.db.updateTable('chat_readers').set({ since }).execute()
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('a replica that lost the lease stores nothing', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    one.say('alarm')
    await one.db.updateTable('leases').set({ token: 99 }).where('name', 'like', 'triggers.chat:%').execute()
    await expect(one.read()).rejects.toThrow('Another process took over')
    expect(one.started).toEqual([])
  })

  test.each<[string, (one: School) => unknown]>([
    ['a platform account', (one) => one.say('alarm', { sender: one.chat.id('tenantry-bot') })],
    ['the administrator', (one) => one.say('alarm', { sender: one.chat.id('tenantry.admin') })],
    ['an unknown user', (one) => one.say('alarm', { sender: one.chat.id('nobody') })],
    ['a user of another server', (one) => one.say('alarm', { sender: '@anna:elsewhere.example' })],
    ['a notice', (one) => one.say('', { content: { msgtype: 'm.notice', body: 'alarm' } })],
    ['an edit', (one) => one.say('', { content: { msgtype: 'm.text', body: 'alarm', 'm.relates_to': { rel_type: 'm.replace' } } })],
    ['a quote', (one) => one.say('> alarm\n\nwhat was that?')],
    ['another word', (one) => one.say('alarming')],
    ['another word, read late', (one) => one.say('alarming', { sentAt: one.clock.now().getTime() - 3_600_001 })],
    ['another room', (one) => one.chat.timeline.write('!other:acme.example', { sender: one.chat.id('anna'), body: 'alarm' })],
  ])('%s starts nothing', async (_, write) => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    write(one)
    one.say('good morning')
    await one.read()
    expect(one.started).toEqual([])
    expect(await one.seen()).toEqual([])
  })

  test('only roles that the board names start it, and a disabled user does not', async () => {
    const one = await school()
    await one.publishAlarm({ cooldownMinutes: 0 }, { startRoles: ['teacher'] })
    await one.read()
    one.say('alarm')
    const rest = { displayName: null, locale: null, avatarUrl: null, createdAt: isoIn(one.clock, 0), updatedAt: isoIn(one.clock, 0) }
    const add = (localpart: string, status: 'active' | 'disabled') =>
      one.db
        .transaction()
        .execute((tx) =>
          insertUser(tx, { id: `usr_${localpart}` as never, tenantId: one.tenantId, localpart, roles: ['teacher'], status, ...rest }),
        )
    await add('tim', 'active')
    await add('dora', 'disabled')
    one.say('alarm', { sender: one.chat.id('dora') })
    const id = one.say('alarm', { sender: one.chat.id('tim') })
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('nothing starts within the cooldown, nor while a run of the board in the room is unfinished', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    const first = one.say('alarm')
    one.say('alarm')
    await one.read()
    await one.clock.advance(9 * 60_000)
    one.say('alarm')
    await one.read()
    await one.clock.advance(60_000)
    one.runs.unfinished.add('brd_1')
    one.say('alarm')
    await one.read()
    one.runs.unfinished.clear()
    const second = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([first, second])
    const skipped = await one.db.selectFrom('trigger_occurrences').select('reason').where('outcome', '=', 'skipped').orderBy('at').execute()
    const cooldown = expect.stringContaining('less than 10 minutes ago')
    expect(skipped.map(({ reason }) => reason)).toEqual([cooldown, cooldown, expect.stringContaining('unfinished')])
  })

  test('an alarm that starts nothing is answered in the room: once for a run and a time, with when the run began', async () => {
    const one = await school()
    await one.publishAlarm({ cooldownMinutes: 0 })
    await one.read()
    one.runs.unfinished.add('brd_1')
    const alarmAgain = async () => {
      one.say('alarm')
      await one.read()
      await one.work()
    }
    await alarmAgain()
    await alarmAgain()
    const answer = { tenantId: one.tenantId, roomId: one.roomId, transactionId: expect.any(String) }
    const body =
      'A run of "brd_1" is open since 2026-01-04 15:00 (Europe/Berlin), so this message started nothing new. ' +
      'Complete or cancel it, or start a run by hand.'
    expect(one.sent).toEqual([{ ...answer, body }])
    await one.clock.advance(answerEveryMs)
    await alarmAgain()
    expect(one.sent).toHaveLength(2)
    expect(new Set(one.sent.map(({ transactionId }) => transactionId)).size).toBe(2)
    // Another run is another answer.
    one.runs.unfinishedSince = isoIn(one.clock, 1_000)
    await one.clock.advance(2_000)
    await alarmAgain()
    expect(one.sent).toHaveLength(3)
    expect(await one.alerts()).toEqual([])
  })

  test('a refused alarm is answered and raises an alert, which a later start closes', async () => {
    const one = await school()
    await one.publishAlarm({ cooldownMinutes: 0 })
    await one.read()
    one.runs.refuse = 'The board is archived.'
    for (let nth = 0; nth < 2; nth++) {
      one.say('alarm')
      await one.read()
      await one.work()
    }
    expect(one.sent.map(({ body }) => body)).toEqual([expect.stringContaining('This message started no run of "brd_1"')])
    const alerts = () => one.db.selectFrom('alerts').select(['kind', 'subject', 'status']).execute()
    expect(await alerts()).toEqual([{ kind: 'trigger_failed', subject: 'acme/brd_1', status: 'open' }])
    one.runs.refuse = undefined
    await one.clock.advance(1_000)
    one.say('alarm')
    await one.read()
    await one.work()
    expect(await alerts()).toEqual([{ kind: 'trigger_failed', subject: 'acme/brd_1', status: 'closed' }])
  })

  test('an alarm that is read more than an hour late is answered and raises an alert, unless a run is there', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    const alarms = ['alarm 1', 'alarm 2']
    for (const text of alarms) one.say(text)
    // More than one page of the history.
    for (let n = 0; n < 25; n++) one.say(`message ${n}`)
    await one.clock.advance(3_600_001)
    await one.read()
    await one.work()
    expect(one.started).toEqual([])
    const reason = 'the message was read more than an hour after it was written'
    expect(await one.seen()).toEqual(alarms.map(() => ({ outcome: 'missed', at: isoIn(one.clock, 0), reason })))
    expect(one.sent.map(({ body }) => body)).toEqual([expect.stringContaining('so it started no run of "brd_1"')])
    const alerts = () => one.db.selectFrom('alerts').select(['kind', 'status']).execute()
    expect(await alerts()).toEqual([{ kind: 'trigger_failed', status: 'open' }])
    one.say('alarm 3')
    await one.clock.advance(3_600_001)
    const id = one.say('alarm 4')
    await one.read()
    await one.work()
    expect(eventIds(one)).toEqual([id])
    expect((await one.seen()).map(({ outcome }) => outcome)).toEqual(['missed', 'missed', 'skipped', 'started'])
    expect(await alerts()).toEqual([{ kind: 'trigger_failed', status: 'closed' }])
  })

  test('a room that a board begins to read after weeks without one has no late messages', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    await one.publishAlarm({}, { spaceId: null })
    expect(await one.read()).toBe(5_000)
    for (let n = 0; n < 30; n++) one.say(`alarm ${n}`)
    await one.clock.advance(14 * 86_400_000)
    await one.publishAlarm()
    await one.read()
    await one.work()
    expect([await one.seen(), one.sent]).toEqual([[], []])
    const id = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('a read after an outage starts nothing by messages from before the publication, but by those before it was repeated', async () => {
    const one = await school()
    await one.publish([{ ...alarm, phrases: ['fire'] }], { id: 'brd_2', spaceId: one.spaceId })
    await one.read()
    one.say('alarm')
    await one.clock.advance(3_600_000)
    one.say('alarm')
    await one.clock.advance(61_000)
    await one.publishAlarm()
    await one.clock.advance(-30_000) // the clock of the chat server is behind
    const id = one.say('alarm')
    await one.clock.advance(31_000)
    await one.publishAlarm({ phrases: ['alarm', 'help'] })
    await one.read()
    expect(eventIds(one)).toEqual([id])
    expect((await one.seen()).map(({ outcome }) => outcome)).toEqual(['started'])
  })

  test('an answer that waited for the chat server for a quarter of an hour is not sent', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    for (let nth = 0; nth < 2; nth++) {
      one.say('alarm')
      await one.read()
    }
    await one.clock.advance(15 * 60_000 + 1)
    await one.work()
    expect(one.sent).toEqual([])
  })

  test('a message that one trigger of a board skips starts it by another', async () => {
    const one = await school()
    const [slow, quick] = [alarm, { ...alarm, id: 'quick', cooldownMinutes: 0 }]
    await one.publish([slow, quick], { spaceId: one.spaceId })
    await one.read()
    const first = one.say('alarm')
    await one.read()
    await one.clock.advance(60_000)
    const second = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([first, second])
  })

  test('the unfinished run of a room counts also when the board has its runs in another space', async () => {
    const one = await school()
    await one.publishAlarm({ room: one.roomId, cooldownMinutes: 0 }, { spaceId: 'spc_other' })
    await one.read()
    const first = one.say('alarm')
    await one.read()
    const { run_id } = await one.db.selectFrom('trigger_occurrences').select('run_id').executeTakeFirstOrThrow()
    one.runs.unfinished.add(run_id as string)
    one.say('alarm')
    await one.read()
    one.runs.unfinished.clear()
    await one.clock.advance(1_000)
    const last = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([first, last])
    expect(one.started.map(({ spaceId }) => spaceId)).toEqual(['spc_other', 'spc_other'])
  })

  test('two boards start by one message, and a board with two fitting triggers once', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.publish(
      [
        { ...alarm, room: one.roomId, phrases: ['fire alarm'], textVariable: 'said' },
        { ...alarm, id: 'b', room: one.roomId },
      ],
      { id: 'brd_2', spaceId: null },
    )
    await one.read()
    one.say('Fire alarm')
    await one.read()
    expect(one.started.map(({ boardId, spaceId, variables }) => [boardId, spaceId, variables])).toEqual([
      ['brd_1', one.spaceId, {}],
      ['brd_2', one.spaceId, { said: 'Fire alarm' }],
    ])
  })

  test('messages that one answer leaves out are read from the history', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    const id = one.say('alarm')
    for (let n = 0; n < 45; n++) one.say(`message ${n}`)
    await one.read()
    expect(eventIds(one)).toEqual([id])
    expect(await one.alerts()).toEqual([])
  })

  test('of more than 1,000 an alert reports that not all were read', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    one.say('alarm')
    for (let n = 0; n < 1_100; n++) one.say(`message ${n}`)
    await one.read()
    expect(one.started).toEqual([])
    expect(await one.alerts()).toEqual(['unread'])
  })

  test('messages too large for one answer are read one by one', async () => {
    const one = await school()
    const yard = await one.aSpace(one.anna, { name: 'Yard', type: 'STAFF' })
    await one.work()
    await one.publishAlarm()
    await one.publish([alarm], { id: 'brd_2', spaceId: yard.id })
    await one.read()
    const other = await one.db.selectFrom('spaces').select('chat_room_id').where('id', '=', yard.id).executeTakeFirstOrThrow()
    const id = one.say('alarm')
    for (let n = 0; n < 9; n++) {
      one.say('x'.repeat(60_000))
      one.chat.timeline.write(other.chat_room_id as string, { sender: one.chat.id('anna'), body: 'x'.repeat(60_000) })
    }
    await one.read()
    expect(eventIds(one)).toEqual([id])
    expect(await one.alerts()).toEqual([])
  })

  test('an answer that stays too large is left out, with an alert', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    one.chat.state.instead = [200, JSON.stringify({ next_batch: 'x'.repeat(1_100_000) })]
    await one.read()
    expect(await one.alerts()).toEqual(['unread'])
    expect(await one.read()).toBe(5_000)
    one.chat.state.instead = undefined
    await one.read()
    const id = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('after a restore, and with another box, reading goes on with the newest message', async () => {
    const one = await school()
    await one.publishAlarm({ cooldownMinutes: 0 })
    await one.read()
    one.say('alarm')
    await one.clock.advance(1_000)
    await restartReader(one.db, one.clock, { tenantId: one.tenantId })
    const second = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([second])
    one.say('alarm')
    await one.db.updateTable('chat_readers').set({ box_id: 'box_before' }).execute()
    await one.clock.advance(1_000)
    await one.read()
    const third = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([second, third])
  })

  test.each([
    ['tenant-box.restore', { outcome: 'restored' }],
    ['tenant-box.update', { rolledBack: true }],
    ['tenant-box.take_over', { outcome: 'restored' }],
  ] as const)(
    'alarms that clients send when the maintenance of %s ends start runs, before and after its result arrives',
    async (kind, result) => {
      const one = await school()
      await one.publishAlarm({ cooldownMinutes: 0 })
      await one.read()
      const read = one.say('alarm')
      await one.read()
      const startedAt = isoIn(one.clock, 0)
      const boxId = (await one.db.selectFrom('boxes').select('id').where('live', '=', 1).executeTakeFirstOrThrow()).id
      await one.clock.advance(600_000)
      const waited = one.say('alarm')
      for (let n = 0; n < 25; n++) one.say(`message ${n}`)
      await one.clock.advance(5_000)
      const handle = readerRestartListener(one).resultHandlers?.[kind] as (tx: Tx, command: Partial<Command>, of: unknown) => Promise<void>
      await one.db.transaction().execute((tx) => handle(tx, { boxId, startedAt, createdAt: startedAt }, result))
      const last = one.say('alarm')
      await one.read()
      expect(eventIds(one)).toEqual([read, waited, last])
      expect((await one.seen()).map(({ outcome }) => outcome)).toEqual(['started', 'started', 'started'])
      expect(await one.alerts()).toEqual([])
    },
  )

  test('a board that is published during a restore reads no message from before it', async () => {
    const one = await school()
    const startedAt = isoIn(one.clock, 0)
    await one.clock.advance(120_000)
    one.say('alarm')
    await one.clock.advance(120_000)
    await one.publishAlarm({ cooldownMinutes: 0 })
    const id = one.say('alarm')
    await restartReader(one.db, one.clock, { tenantId: one.tenantId, from: startedAt })
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('a message that is read when the tenant was just suspended starts a run once it is resumed', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    const set = (status: 'active' | 'suspended') => one.db.updateTable('tenants').set({ status }).where('id', '=', one.tenantId).execute()
    await set('suspended')
    const id = one.say('alarm')
    expect(await one.read()).toBe(5_000)
    expect(eventIds(one)).toEqual([])
    await set('active')
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('a reader that was reset while it waited stores nothing of the former data', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    const waiting = one.read()
    await expect.poll(() => one.chat.timeline.waiting()).toBe(1)
    await one.clock.advance(1_000)
    await restartReader(one.db, one.clock, { tenantId: one.tenantId })
    one.say('alarm')
    await waiting
    expect(one.started).toEqual([])
    expect(await one.db.selectFrom('chat_readers').select('since').executeTakeFirstOrThrow()).toEqual({ since: null })
  })

  test('an unknown token begins anew, with an alert', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    await one.db.updateTable('chat_readers').set({ since: 'of another kind' }).execute()
    expect(await one.read()).toBe(0)
    expect(await one.alerts()).toEqual(['unread'])
    await one.read()
    const id = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('a fenced box is asked again when it says, and loses nothing', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    one.chat.state.fence = true
    expect(await one.read()).toBe(10_000)
    one.chat.state.fence = false
    const id = one.say('alarm')
    await one.read()
    expect(eventIds(one)).toEqual([id])
  })

  test('an encrypted room is refused at publish, and one that becomes encrypted raises an alert until no board reads it', async () => {
    const one = await school()
    const place = () =>
      one.ports.triggerPlace(one.db, {
        tenantId: one.tenantId,
        spaceId: one.spaceId,
        definition: {
          triggers: [{ ...alarm, room: 'space', cooldownMinutes: 10, textVariable: null }],
          bindings: { roles: {}, rooms: {} },
        } as never,
      })
    expect(await place()).toMatchObject({ roomId: one.roomId, encryptedRooms: new Set(), unknownRooms: new Set() })
    await one.publishAlarm()
    await one.read()
    one.chat.rooms.put(one.roomId, one.chat.id('tenantry.admin'), 'm.room.encryption', '', { algorithm: 'm.megolm.v1.aes-sha2' })
    one.chat.timeline.write(one.roomId, { sender: one.chat.id('tenantry.admin'), type: 'm.room.encryption', stateKey: '', content: {} })
    await one.read()
    expect(await one.alerts()).toEqual(['encrypted'])
    expect(await place()).toMatchObject({ encryptedRooms: new Set([one.roomId]) })
    one.chat.state.fence = true
    expect(await place()).toMatchObject({ unknownRooms: new Set([one.roomId]) })
    await one.archive()
    expect(await one.db.selectFrom('alerts').select('status').execute()).toEqual([{ status: 'closed' }])
  })

  test('the request names only the rooms of triggers, and messages are its only events', async () => {
    const one = await school()
    await one.publishAlarm()
    await one.read()
    const { path, authorization } = one.chat.asked.findLast((request) => request.path.includes('/v3/sync')) as {
      path: string
      authorization: string
    }
    const { room, presence } = JSON.parse(new URLSearchParams(path.split('?')[1]).get('filter') as string)
    expect(room).toMatchObject({
      rooms: [one.roomId],
      timeline: { types: ['m.room.message', 'm.room.encryption'] },
      state: { not_types: ['*'] },
    })
    expect(presence).toEqual({ not_types: ['*'] })
    expect(one.chat.sessions.get(authorization.replace('Bearer ', ''))?.userId).toBe(one.chat.id('tenantry.admin'))
  })

  test('a reader per tenant reads while it has triggers: a replica takes it over, and one that stops releases it', async () => {
    const one = await school()
    await one.db.deleteFrom('leases').execute()
    const [first, second] = [new AbortController(), new AbortController()]
    onTestFinished(() => {
      first.abort()
      second.abort()
    })
    const clock = systemClock
    const say = (body: string) => one.say(body, { sentAt: clock.now().getTime() })
    const running = (owner: string, signal: AbortSignal) => runLoop({ ...one, clock, owner }, chatReaders({ ...one, clock, owner }), signal)
    const reading = running('a', first.signal)
    await one.publishAlarm({ cooldownMinutes: 0 })
    await one.db.updateTable('chat_readers').set({ read_from: clock.now().toISOString() }).execute()
    await expect.poll(() => one.chat.timeline.waiting()).toBe(1)
    const other = running('b', second.signal)
    const sent = clock.monotonicMs()
    say('alarm')
    await expect.poll(() => one.started.length, { interval: 20 }).toBe(1)
    expect(clock.monotonicMs() - sent).toBeLessThan(2_000)
    await expect.poll(() => one.chat.timeline.waiting()).toBe(1)
    first.abort()
    await reading
    await expect.poll(() => one.chat.timeline.waiting()).toBe(1)
    say('alarm')
    await expect.poll(() => one.started.length).toBe(2)
    await one.archive()
    await expect
      .poll(() => one.db.selectFrom('leases').select('name').where('expires_at', '>', clock.now().toISOString()).execute(), {
        timeout: 5_000,
      })
      .toEqual([])
    second.abort()
    await other
  })
})
