import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cronFault } from '../../../src/core/boards/cron-trigger.ts'
import {
  type BoardDefinition,
  causeOf,
  checkBoard,
  dueOccurrences,
  eventStarts,
  isOutdated,
  nextOccurrence,
  occurrenceKey,
  readChatMessage,
  saysOneOf,
  type Trigger,
  type TriggerOf,
  type TriggerPlace,
} from '../../../src/core/boards/index.ts'
import { costlyExpressions, sketch } from './sketch.ts'

const place: TriggerPlace = {
  spaceId: 'spc_1',
  roomId: '!room:school',
  encryptedRooms: new Set(['!secret:school']),
  unknownRooms: new Set(['!dark:school']),
  timeZone: 'Europe/Berlin',
  now: new Date('2026-11-23T12:00:00Z'),
}
const rooms = new Set(['!room:school', '!secret:school', '!dark:school'])
const roles = new Set(['teacher'])

const chat = { id: 'a', kind: 'chat', phrases: ['alarm'] }
const event = { id: 'a', kind: 'event', eventType: 'task.updated' }
const cron = { id: 'a', kind: 'cron', expression: '0 8 * * 1-5' }

const triggersOf = (triggers: readonly object[], more: object = {}) => sketch('s > t1 > e', {}, { triggers, ...more })
const found = (definition: BoardDefinition, change: Partial<TriggerPlace> = {}, isTemplate = false) =>
  checkBoard(definition, { roles, rooms, place: { ...place, ...change } }, { isTemplate }).map(({ code }) => code)
const text = { name: 'said', type: 'text' }

describe('check', () => {
  test('each type that the page of modules lists starts runs; for others the finding names the near ones', () => {
    const messages = (eventType: string) =>
      checkBoard(triggersOf([{ ...event, eventType }]), { roles, rooms, place }).map(({ message }) => message)
    const page = readFileSync('docs/module-authors.md', 'utf8')
    const list = page.slice(page.indexOf('## Events'), page.indexOf('## The manifest'))
    const types = [...list.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, type]) => type as string)
    expect(types.length).toBeGreaterThan(40)
    expect(types.filter((type) => messages(type).length > 0)).toEqual([])
    const [, stream, ...stored] = /`(run.updated)` is `(.+)`, `(.+)`, `(.+)` or `(.+)`/.exec(readFileSync('docs/boards.md', 'utf8')) ?? []
    expect(messages(stream as string)).toEqual([expect.stringMatching(new RegExp(`fix: use ${stored.join(' or ')}$`))])
    expect(messages('task.done')).toEqual([expect.stringContaining('fix: use task.created or task.updated or task.escalated')])
    expect(messages('no.such')).toEqual([expect.stringContaining('such as task.updated')])
  })

  test.each([
    [[chat]],
    [[event]],
    [[cron]],
    [
      [
        { ...event, expression: "event.status == 'done' && has(event.by)" },
        { ...cron, id: 'b' },
        { ...chat, id: 'c', room: '!room:school' },
      ],
    ],
  ])('%j is sound', (triggers) => expect(found(triggersOf(triggers))).toEqual([]))

  test.each([
    [[chat, event], ['TRIGGER_REPEATED']],
    [[{ ...chat, phrases: ['?!', 'alarm'] }], ['PHRASE_EMPTY']],
    [[{ ...chat, room: '!elsewhere:school' }], ['ROOM_UNKNOWN']],
    [[{ ...chat, room: '!secret:school' }], ['ROOM_ENCRYPTED']],
    [[{ ...chat, room: '!dark:school' }], ['ROOM_UNREAD']],
    [[{ ...chat, room: { room: 'staff' } }], ['ROOM_MISSING']],
    [[{ ...chat, textVariable: 'said' }], ['TRIGGER_VARIABLE']],
    [[{ ...event, eventType: 'rollout.done' }], ['EVENT_UNKNOWN']],
    [[{ ...event, eventType: 'no.such' }], ['EVENT_UNKNOWN']],
    [[{ ...event, expression: 'event.status' }], ['EXPRESSION_INVALID']],
    [[{ ...event, expression: '1 + 1' }], ['EXPRESSION_INVALID']],
    [[{ ...event, expression: 'event.status ==' }], ['EXPRESSION_INVALID']],
    [[{ ...event, expression: "event.status.matches('a+')" }], ['EXPRESSION_INVALID']],
    [[{ ...event, expression: 'vars.people > 1' }], ['EXPRESSION_INVALID']],
    [[{ ...cron, expression: '0 0 31 2 *' }], ['CRON_INVALID']],
    [[{ ...cron, expression: '0 0 8 * * *' }], ['CRON_INVALID']],
    [[{ ...cron, expression: '@daily    ' + ' ' }], 'VALIDATION'],
    [[{ ...cron, expression: '@midnight' }], ['CRON_INVALID']],
    [[{ ...cron, expression: '99 8 * * *' }], ['CRON_INVALID']],
    [[{ ...cron, expression: '* * * * *' }], ['CRON_INVALID']],
    [[{ ...cron, expression: '0-12 8 * * *' }], ['CRON_INVALID']],
    [[{ ...cron, expression: '*/5 * * * *' }], []],
  ])('%j: %j', (triggers, codes) => {
    if (codes === 'VALIDATION') expect(() => triggersOf(triggers)).toThrow()
    else expect(found(triggersOf(triggers))).toEqual(codes)
  })

  test.each(costlyExpressions('event.status'))('%s is refused', (expression) =>
    expect(found(triggersOf([{ ...event, expression }]))).toEqual(['EXPRESSION_INVALID']),
  )

  test.each(['07:00', '08:05', '12:00', '23:58'])('a cron that is too frequent is refused at any time, as at %s', (time) => {
    const now = new Date(`2026-01-05T${time}:00Z`)
    expect(cronFault('0-12 8 * * *', now)).toBe('it happens more than 12 times in an hour')
    expect(cronFault('53-59,0-6 23,0 * * *', now)).toBe('it happens more than 12 times in an hour')
    expect(cronFault('*/5 * * * *', now)).toBeUndefined()
  })

  test('an invalid cron expression is named with the trigger, the reason and what to do', () => {
    const findings = checkBoard(triggersOf([{ ...cron, expression: '0 0 31 2 *' }]), { roles, rooms, place }, { isTemplate: false })
    expect(findings.map(({ message }) => message)).toEqual([
      `trigger ${cron.id}: the cron expression "0 0 31 2 *" is not valid: it never happens. fix: use five fields such as 0 8 * * 1-5`,
    ])
  })

  test('event and cron triggers need the space of their runs, chat triggers have that of their room', () => {
    const elsewhere = { spaceId: null, roomId: null }
    expect(found(triggersOf([event]), elsewhere)).toEqual(['TRIGGER_SPACE'])
    expect(found(triggersOf([cron]), elsewhere)).toEqual(['TRIGGER_SPACE'])
    expect(found(triggersOf([chat]), elsewhere)).toEqual(['ROOM_MISSING'])
    expect(found(triggersOf([{ ...chat, room: '!room:school' }]), elsewhere)).toEqual([])
  })

  test('a template may leave space and rooms open', () => {
    expect(
      found(triggersOf([event, { ...cron, id: 'b' }, { ...chat, id: 'c', room: { room: 'staff' } }]), { spaceId: null }, true),
    ).toEqual([])
  })

  test('a required variable must be one that the trigger sets', () => {
    const variables = [{ ...text, required: true }]
    expect(found(triggersOf([{ ...chat, textVariable: 'said' }], { variables }))).toEqual([])
    expect(found(triggersOf([chat], { variables }))).toEqual(['TRIGGER_VARIABLE'])
    expect(found(triggersOf([cron], { variables }))).toEqual(['TRIGGER_VARIABLE'])
    expect(found(triggersOf([cron], { variables: [text] }))).toEqual([])
    expect(found(triggersOf([{ ...chat, textVariable: 'said' }], { variables: [{ name: 'said', type: 'number' }] }))).toEqual([
      'TRIGGER_VARIABLE',
    ])
  })
})

describe('messages', () => {
  const message = (content: object, more: object = {}) => ({
    ...{ type: 'm.room.message', event_id: '$1', sender: '@anna:school', origin_server_ts: 5, content: { msgtype: 'm.text', ...content } },
    ...more,
  })

  test.each([
    ['Alarm!', true],
    ['fire ALÁRM, everybody out', true],
    ['alarming', false],
    ['no-alarm-today', true],
    ['', false],
    ['Feuer   im\nHaus', true],
    ['Feuer ist im Haus', false],
    ['Feuer im Hausflur', false],
    ['тревога', true],
    ['FEÜER', false],
  ])('%j: %s', (said, expected) => expect(saysOneOf(['alarm', 'Feuer im Haus', 'Тревога'], said)).toBe(expected))

  test('a phrase without words fits nothing', () => expect(saysOneOf(['!!', ''], 'help !! me')).toBe(false))

  test('a text of a person is read, without what it quotes', () => {
    const reply = { body: '> <@ben:school> alarm\n> now\n\nno worries', 'm.relates_to': { 'm.in_reply_to': { event_id: '$0' } } }
    expect(readChatMessage('!r', message(reply))).toEqual({
      ...{ eventId: '$1', roomId: '!r', sender: '@anna:school', sentAtMs: 5, text: '\nno worries' },
    })
  })

  test.each([
    ['a notice', message({ msgtype: 'm.notice', body: 'alarm' })],
    ['an edit', message({ body: '* alarm', 'm.relates_to': { rel_type: 'm.replace', event_id: '$0' } })],
    ['a file', message({ msgtype: 'm.file', body: 'alarm' })],
    ['a redacted message', message({}, { content: {} })],
    ['an encrypted message', message({ body: 'alarm' }, { type: 'm.room.encrypted' })],
    ['a state event', message({ body: 'alarm' }, { state_key: '' })],
    ['no sender', message({ body: 'alarm' }, { sender: undefined })],
    ['nothing', null],
  ])('%s is not read', (_, one) => expect(readChatMessage('!r', one)).toBeUndefined())

  test('characters that a database refuses are replaced, and an id with them is no message', () => {
    expect(readChatMessage('!r', message({ body: 'alarm\0 \ud800' }))).toMatchObject({ text: 'alarm\ufffd \ufffd' })
    expect(readChatMessage('!r', message({ body: 'alarm' }, { event_id: '$1\0' }))).toBeUndefined()
  })

  test('a message older than an hour starts nothing', () => {
    expect(isOutdated({ sentAtMs: 0 }, 3_600_000)).toBe(false)
    expect(isOutdated({ sentAtMs: 0 }, 3_600_001)).toBe(true)
  })
})

describe('events', () => {
  const trigger = (expression: string | null = null) => ({ ...event, expression }) as TriggerOf<'event'>
  const happened = (payload: unknown, eventType = 'task.updated') => ({ seq: 7, eventType, payload })

  test.each([
    [null, { taskId: 't' }, true],
    [null, { taskId: 't', spaceId: 'spc_1' }, true],
    [null, { taskId: 't', spaceId: 'spc_2' }, false],
    [null, { taskId: 't', spaceId: null }, true],
    ["event.status == 'done'", { status: 'done' }, true],
    ["event.status == 'done'", { status: 'open' }, false],
    ['has(event.level) && event.level == 3', { level: 3 }, true],
    ['has(event.level) && event.level == 3', { level: { deep: 3 } }, false],
  ])('%s of %j: %s', (expression, payload, expected) => expect(eventStarts(trigger(expression), 'spc_1', happened(payload))).toBe(expected))

  test('an event of another type starts nothing', () => expect(eventStarts(trigger(), 'spc_1', happened({}, 'task.created'))).toBe(false))

  test('a field that is null equals no text', () => {
    expect(eventStarts(trigger("event.role == 'custodian'"), 'spc_1', happened({ role: null }))).toBe(false)
    expect(eventStarts(trigger("event.role != 'custodian'"), 'spc_1', happened({ role: null, spaceId: null }))).toBe(true)
  })

  test('an expression without a value is an error, never false', () => {
    expect(() => eventStarts(trigger("event.status == 'done'"), 'spc_1', happened({}))).toThrow(/status/)
    expect(() => eventStarts(trigger('event.status'), 'spc_1', happened({ status: 'x' }))).toThrow('gives string, not true or false')
  })

  test.each(costlyExpressions('event.status'))('%s of a trigger that was published before is not evaluated', (expression) =>
    expect(() => eventStarts(trigger(expression), 'spc_1', happened({ status: 'a' }))).toThrow(/not supported|needs a fixed text/),
  )

  test('an expression reads the first 1,000 characters of a text', () => {
    const payload = { note: `${'a'.repeat(999)}bc` }
    expect(eventStarts(trigger("size(event.note) == 1000 && event.note.endsWith('b')"), 'spc_1', happened(payload))).toBe(true)
  })

  test('an event of the work of a run names the run', () => {
    expect(causeOf(happened({ runId: 'run_1' }))).toBe('run_1')
    expect(causeOf(happened({ runId: null }))).toBeUndefined()
    expect(causeOf(happened(null))).toBeUndefined()
  })
})

describe('times', () => {
  const berlin = (expression: string) => ({ expression, timeZone: 'Europe/Berlin' })
  const iso = (dates: readonly Date[]) => dates.map((at) => at.toISOString().slice(0, 16))
  const timesAfter = (expression: string, from: string, count: number): string[] => {
    const times: Date[] = []
    for (let at = new Date(from); times.length < count; times.push(at)) at = nextOccurrence(berlin(expression), at) as Date
    return iso(times)
  }

  test('a time that the clocks skip in spring comes an hour later by the clock, and one that they repeat in autumn comes once', () => {
    expect(timesAfter('30 2 * * *', '2026-03-28T00:00:00Z', 3)).toEqual(['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'])
    expect(timesAfter('30 2 * * *', '2026-10-24T00:00:00Z', 3)).toEqual(['2026-10-24T00:30', '2026-10-25T00:30', '2026-10-26T01:30'])
    expect(timesAfter('0 8 * * *', '2026-03-28T00:00:00Z', 2)).toEqual(['2026-03-28T07:00', '2026-03-29T06:00'])
  })

  test('every hour is every hour, also when the clocks change', () => {
    expect(timesAfter('0 * * * *', '2026-10-24T23:30:00Z', 3)).toEqual(['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'])
    expect(timesAfter('0 * * * *', '2026-03-29T00:30:00Z', 2)).toEqual(['2026-03-29T01:00', '2026-03-29T02:00'])
  })

  const due = (from: string, now: string, expression = '0 8 * * *') => {
    const { start, missed } = dueOccurrences(berlin(expression), { after: new Date(from), now: new Date(now) })
    return [start && iso([start])[0], iso(missed)]
  }

  test.each([
    ['2026-05-04T07:00:00Z', '2026-05-05T05:59:59Z', [null, []]],
    ['2026-05-04T07:00:00Z', '2026-05-05T06:00:00Z', ['2026-05-05T06:00', []]],
    ['2026-05-04T07:00:00Z', '2026-05-05T07:00:00Z', ['2026-05-05T06:00', []]],
    ['2026-05-04T07:00:00Z', '2026-05-05T07:00:01Z', [null, ['2026-05-05T06:00']]],
    ['2026-05-02T07:00:00Z', '2026-05-05T06:30:00Z', ['2026-05-05T06:00', ['2026-05-03T06:00', '2026-05-04T06:00']]],
    ['2026-05-05T06:00:00Z', '2026-05-05T06:30:00Z', [null, []]],
  ])('from %s to %s', (from, now, expected) => expect(due(from, now)).toEqual(expected))

  test('of a long outage the newest hundred are recorded', () => {
    const [start, missed] = due('2026-01-01T00:00:00Z', '2026-05-05T06:00:30Z', '* * * * *')
    expect(start).toBe('2026-05-05T06:00')
    expect(missed).toHaveLength(100)
  })

  test('whenever the daemon looks, every time of a day is seen once', () => {
    const dayMs = 86_400_000
    const from = Date.parse('2026-10-24T12:00:00Z')
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: dayMs }), { maxLength: 30 }),
        fc.constantFrom('*/30 * * * *', '30 2 * * *', '15 1-4 * * *'),
        (looks, expression) => {
          const seen: number[] = []
          let last = new Date(from)
          for (const look of [...looks, dayMs].toSorted((a, b) => a - b)) {
            const now = new Date(from + look)
            const { start, missed } = dueOccurrences(berlin(expression), { after: last, now })
            seen.push(...missed.map(Number), ...(start ? [Number(start)] : []))
            last = now
          }
          const every: number[] = []
          for (
            let at = nextOccurrence(berlin(expression), new Date(from));
            at && Number(at) <= from + dayMs;
            at = nextOccurrence(berlin(expression), at)
          )
            every.push(Number(at))
          expect(seen).toEqual(every)
        },
      ),
      { numRuns: 30 },
    )
  })
})

test('each occurrence has its own key, and one message has one for all triggers of a board', () => {
  const at = new Date('2026-05-05T06:00:00Z')
  const keys = [
    occurrenceKey({ kind: 'event', triggerId: 'a', seq: 7 }),
    occurrenceKey({ kind: 'event', triggerId: 'b', seq: 7 }),
    occurrenceKey({ kind: 'cron', triggerId: 'a', at }),
    occurrenceKey({ kind: 'cron', triggerId: 'b', at }),
    occurrenceKey({ kind: 'chat', eventId: '$1' }),
  ]
  expect(new Set(keys).size).toBe(5)
})

test('a definition of a board without triggers has none', () => {
  const triggers: readonly Trigger[] = sketch('s > e').triggers
  expect(triggers).toEqual([])
})
