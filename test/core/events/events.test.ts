import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Audience,
  eventTypes,
  idsOf,
  messageOf,
  positionMessage,
  progressOf,
  reaches,
  readCursor,
  resetMessage,
  StreamData,
  StreamType,
  streamTypeOf,
} from '../../../src/core/events/index.ts'
import { RolloutEventType } from '../../../src/core/rollouts/index.ts'

const known = Object.keys(eventTypes)

describe('types', () => {
  test('there are 19 stream types, and each is published for some stored event', () => {
    expect(StreamType.options).toHaveLength(19)
    expect(new Set(known.map(streamTypeOf).filter(Boolean))).toEqual(new Set(StreamType.options))
  })

  const spec = [
    ['space.created', 'space.changed', { spaceId: 's1', name: 'Class 3b' }, { spaceId: 's1' }],
    ['space.deleted', 'space.changed', { spaceId: 's1' }, { spaceId: 's1' }],
    ['user.joined', 'membership.changed', { userId: 'u1', spaceId: 's1' }, { userId: 'u1', spaceId: 's1' }],
    ['user.left', 'membership.changed', { userId: 'u1', spaceId: 's1', reason: 'moved away' }, { userId: 'u1', spaceId: 's1' }],
    ['module.activated', 'module.changed', { moduleId: 'm1', version: '1.0.0' }, { moduleId: 'm1' }],
    ['module.deactivated', 'module.changed', { moduleId: 'm1' }, { moduleId: 'm1' }],
    ['task.created', 'task.created', { taskId: 't1', title: 'call the parents', spaceId: null }, { taskId: 't1' }],
    ['rollout.paused', undefined, { rolloutId: 'r1', reason: 'a box is sick' }, { rolloutId: 'r1' }],
    ['alert.closed', undefined, { alertIds: [1], because: 'seen to' }, {}],
    ['never.heard_of', undefined, { spaceId: 's1' }, {}],
    ['toString', undefined, { spaceId: 's1' }, {}],
  ] as const

  test.each(spec)('%s is published as %s, with its ids only', (type, stream, payload, ids) => {
    expect(streamTypeOf(type)).toBe(stream)
    expect(idsOf(type, payload)).toEqual(ids)
  })

  test('every stored type is known', () => {
    const root = join(import.meta.dirname, '../../../src')
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /^daemon\/.*\.ts$/.test(file))
    const stored = files.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      const appended = [...text.matchAll(/eventType: (?:\w+ \? )?'([^']+)'(?: : '([^']+)')?/g)].flatMap(([, one, other]) => [one, other])
      const recorded = [...text.matchAll(/recordEvent\([^)]*?type: '([^']+)'/gs)].map(([, one]) => one)
      return [...appended, ...recorded].filter((one): one is string => one !== undefined)
    })
    expect(stored.length).toBeGreaterThan(10)
    expect([...stored, ...RolloutEventType.options].filter((type) => !known.includes(type))).toEqual([])
  })

  test('only the ids declared by its type leave a payload', () => {
    const anyPayload = fc.dictionary(fc.oneof(fc.constantFrom('spaceId', 'userId', 'taskId', 'name'), fc.string()), fc.jsonValue())
    fc.assert(
      fc.property(fc.constantFrom(...known), anyPayload, (type, payload) => {
        const { ids, perhaps } = eventTypes[type as keyof typeof eventTypes]
        for (const [name, id] of Object.entries(idsOf(type, payload))) {
          expect([...ids, ...perhaps]).toContain(name)
          expect(id).toBe(payload[name])
        }
      }),
    )
  })
})

describe('messages', () => {
  const at = '2026-01-05T02:00:00.000Z'

  test('an event is sent with its number, type and ids', () => {
    const message = messageOf({ seq: 42, eventType: 'space.created', payload: { spaceId: 's\n1', name: 'secret' }, createdAt: at })
    expect(message).toBe(`id: 42\nevent: space.changed\ndata: {"type":"space.changed","at":"${at}","ids":{"spaceId":"s\\n1"}}\n\n`)
  })

  test('clients get no operator events', () => {
    expect(messageOf({ seq: 1, eventType: 'alert.raised', payload: { alertId: 'a' }, createdAt: at })).toBeUndefined()
  })

  test('a reset has its reason and the next position', () => {
    const [id, event, data] = resetMessage(7, at, 'too_old').trimEnd().split('\n')
    expect([id, event]).toEqual(['id: 7', 'event: reset'])
    expect(StreamData.parse(JSON.parse((data as string).slice('data: '.length)))).toEqual({ type: 'reset', at, ids: {}, reason: 'too_old' })
  })

  test('a position has data, because parsers drop an id without it', () => {
    const message = positionMessage(9, at)
    expect(message).toBe(`id: 9\nevent: position\ndata: {"type":"position","at":"${at}","ids":{}}\n\n`)
    expect(StreamData.parse(JSON.parse(message.split('data: ')[1] as string))).toEqual({ type: 'position', at, ids: {} })
  })
})

const audiences: readonly (readonly [string, Audience | null, boolean])[] = [
  ['no audience', null, false],
  ['the tenant', 'tenant', true],
  ['members of a space that the user is in', { spaces: ['other', 'mine'] }, true],
  ['members of another space', { spaces: ['other'] }, false],
  ['the user', { users: ['u2', 'u1'] }, true],
  ['other users', { users: ['u2'] }, false],
  ['those with a capability that the user has', { capability: 'manageModules' }, true],
  ['those with another capability', { capability: 'manageBoards' }, false],
  ['those with a capability in a private space that the user is in', { capability: 'manageModules', within: ['mine'] }, true],
  ['those with a capability in another private space', { capability: 'manageModules', within: ['mine', 'other'] }, false],
  ['those with a role that the user has', { roles: ['parent', 'teacher'] }, true],
  ['those with another role', { roles: ['parent'] }, false],
  ['members of another space and the user', { spaces: ['other'], users: ['u1'] }, true],
  ['members of another space or those with a capability', { spaces: ['other'], capability: 'manageModules' }, true],
  ['an empty audience', {}, false],
]

test.each(audiences)('an event for %s', (_, audience, isTold) => {
  const reader = { userId: 'u1', roles: ['teacher'], capabilities: ['manageModules'] as const }
  expect(reaches(audience, reader, (spaceId, userId) => spaceId === 'mine' && userId === 'u1')).toBe(isTold)
})

const cursors = [
  [undefined, { kind: 'none' }],
  ['', { kind: 'none' }],
  ['0', { kind: 'after', seq: 0 }],
  ['42', { kind: 'after', seq: 42 }],
  ['999999999999999', { kind: 'after', seq: 999_999_999_999_999 }],
  ['9999999999999999', { kind: 'unknown' }],
  ['-1', { kind: 'unknown' }],
  ['007', { kind: 'unknown' }],
  ['1e3', { kind: 'unknown' }],
  ['42 or 1=1', { kind: 'unknown' }],
  ['٤٢', { kind: 'unknown' }],
] as const

test.each(cursors)('Last-Event-ID %j', (given, cursor) => {
  expect(readCursor(given)).toEqual(cursor)
})

test.each([
  [
    'rollout.action',
    { status: 'canary', action: { tenantSlug: 'a', status: 'probing', error: { message: 'secret' } }, progress: { step: 'probe' } },
    { box: 'a', status: 'probing', step: 'probe' },
  ],
  ['rollout.paused', { status: 'paused', reason: 'no', action: null, progress: null }, { status: 'paused' }],
  ['task.created', { status: 'open', action: { tenantSlug: 'a' } }, {}],
  ['rollout.action', null, {}],
] as const)('the progress of %s is its box, step and status alone', (type, payload, shown) => {
  expect(progressOf(type, payload)).toEqual(shown)
})
