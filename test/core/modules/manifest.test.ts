import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { eventTypes, streamTypeOf } from '../../../src/core/events/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'
import {
  assertSameManifest,
  ModuleId,
  readModuleManifest,
  SettingsSchema,
  secretSettings,
  settingsValues,
} from '../../../src/core/modules/index.ts'

const minimal = {
  id: 'attendance',
  name: 'Attendance',
  version: '1.0.0',
  type: 'A',
  svcCoreVersion: '>=1.0.0',
  description: 'Counts who is there',
  author: { name: 'Ada', email: 'ada@example.org' },
  license: 'MIT',
  category: 'organization',
  permissions: ['spaces:read'],
  featureFlag: 'attendance',
}

/** Paths of the wrong fields. */
function wrongIn(change: Record<string, unknown>): readonly string[] {
  try {
    readModuleManifest(JSON.stringify({ ...minimal, ...change }))
    return []
  } catch (error) {
    if (!isProblem(error, 'MODULE_INVALID')) throw error
    return (error.details ?? []).map(({ path }) => path)
  }
}

test('a manifest of the fields that every module has gets defaults for everything else', () => {
  const { category: _, ...required } = minimal
  expect(readModuleManifest(JSON.stringify(required))).toMatchObject({
    category: 'other',
    billing: null,
    main: 'index.js',
    events: { subscribes: [], publishes: [] },
    routes: false,
    settings: null,
    dataVersion: 0,
  })
})

test.each([
  ['an upper-case id', { id: 'Attendance' }, 'id'],
  ['a reserved id', { id: 'admin' }, 'id'],
  ['an id of the platform', { id: 'svc-mail' }, 'id'],
  ['a version that is none', { version: '1.0' }, 'version'],
  ['a range that is none', { svcCoreVersion: 'new' }, 'svcCoreVersion'],
  ['one version in place of a range', { svcCoreVersion: '1.0.0' }, 'svcCoreVersion'],
  ['an unknown permission', { permissions: ['users:read'] }, 'permissions.0'],
  ['a permission twice', { permissions: ['spaces:read', 'spaces:read'] }, 'permissions'],
  ['an unknown field', { permission: [] }, 'module.json'],
  ['a path out of the package', { main: '../index.js' }, 'main'],
  ['an absolute path', { main: '/index.js' }, 'main'],
  [
    'subscribing to an event that there is not',
    { permissions: ['events:subscribe'], events: { subscribes: ['space.creatd'] } },
    'events.subscribes.0',
  ],
  [
    'subscribing to an event of operators',
    { permissions: ['events:subscribe'], events: { subscribes: ['box.ready'] } },
    'events.subscribes.0',
  ],
  ['subscribing without the permission', { events: { subscribes: ['space.created'] } }, 'events.subscribes'],
  ['publishing without the permission', { events: { publishes: [{ name: 'missed' }] } }, 'events.publishes'],
  ['type B without data processing', { type: 'B' }, 'dataProcessing'],
  [
    'a pattern in settings',
    { settings: { type: 'object', properties: { a: { type: 'string', pattern: '(a+)+$' } } } },
    'settings.properties.a',
  ],
  ['a reference in settings', { settings: { type: 'object', properties: { a: { $ref: '#' } } } }, 'settings.properties.a'],
  ['a control character in a name', { name: 'a\u001b[2J' }, 'name'],
  ['a bidi character in a name', { name: 'a\u202eb' }, 'name'],
])('%s is refused by its path', (_, change, path) => {
  expect(wrongIn(change)).toEqual([path])
})

test('a module does not hear itself', () => {
  const events = { subscribes: ['module.attendance.missed'] }
  expect(wrongIn({ permissions: ['events:subscribe'], events })).toEqual(['events.subscribes'])
})

test('manifests are compared by value: order and spacing do not matter', () => {
  expect(() => assertSameManifest({ a: 1, b: [2] }, JSON.parse('{ "b": [2],\n "a": 1 }'))).not.toThrow()
  expect(() => assertSameManifest({ a: 1 }, { a: 2 })).toThrow(expect.objectContaining({ code: 'MANIFEST_MISMATCH' }))
})

test('ids have 3 to 50 characters', () => {
  expect(['abc', `a${'b'.repeat(49)}`, 'ab', `a${'b'.repeat(50)}`, '1ab', 'a_b'].map((id) => ModuleId.safeParse(id).success)).toEqual([
    ...[true, true, false, false, false, false],
  ])
})

describe('settings', () => {
  const schema = SettingsSchema.parse({
    type: 'object',
    properties: {
      hour: { type: 'integer', minimum: 0, maximum: 23, default: 8 },
      key: { type: 'string', kind: 'secret' },
      mode: { type: 'string', enum: ['a', 'b'] },
    },
    required: ['key'],
  })

  test('values are checked, defaults filled in, unknown names refused', () => {
    const values = settingsValues(schema)
    expect(values.parse({ key: 'k' })).toEqual({ key: 'k', hour: 8 })
    expect(values.safeParse({}).success).toBe(false)
    expect(values.safeParse({ key: 'k', hour: 24 }).success).toBe(false)
    expect(values.safeParse({ key: 'k', mode: 'c' }).success).toBe(false)
    expect(values.safeParse({ key: 'k', other: 1 }).success).toBe(false)
  })

  test('secrets are known by name', () => {
    expect(secretSettings(schema)).toEqual(['key'])
  })

  test('a default must be a value of its setting, and a secret has none', () => {
    const of = (property: unknown) => SettingsSchema.safeParse({ type: 'object', properties: { a: property } }).success
    expect(of({ type: 'integer', maximum: 3, default: 4 })).toBe(false)
    expect(of({ type: 'string', kind: 'secret', default: 'x' })).toBe(false)
  })
})

test('the page for authors lists every event that a module can hear, with its ids', () => {
  const page = readFileSync('docs/module-authors.md', 'utf8')
  const list = page.slice(page.indexOf('## Events'), page.indexOf('## The manifest'))
  const words = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word)
  const items = [...list.matchAll(/^- (none|[^:]+): ((?:.|\n {2})+)$/gm)]
  const listed = items.flatMap(([, ids = '', types = '']) => words(types).map((type) => [type, words(ids)]))
  const heard = Object.entries(eventTypes).filter(([type]) => streamTypeOf(type) !== undefined)
  const expected = heard.map(([type, { ids, perhaps }]) => [type, [...ids, ...perhaps.map((id) => `${id}?`)]])
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(expected))
})
