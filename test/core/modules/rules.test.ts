import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  approvedAfterUpdate,
  approvedOf,
  assertCompatible,
  assertFlagFree,
  assertNewVersion,
  CallRefused,
  consentOf,
  isOneEditApart,
  type Permission,
  permissionDifference,
  type SvcHandlers,
  serveCalls,
  svcCalls,
  usageEvent,
  withModuleFlags,
} from '../../../src/core/modules/index.ts'

const code = (expected: string) => expect.objectContaining({ code: expected })

describe('permissions', () => {
  const declared: Permission[] = ['spaces:read', 'files:read']

  test('fewer than declared is fine, others are refused by name', () => {
    expect(approvedOf(declared, [])).toEqual([])
    expect(approvedOf(declared, ['files:read', 'files:read'])).toEqual(['files:read'])
    expect(() => approvedOf(declared, ['files:write'])).toThrow(code('PERMISSION_NOT_DECLARED'))
  })

  test('the difference of two versions', () => {
    expect(permissionDifference(declared, ['files:read', 'files:write'])).toEqual({ added: ['files:write'], removed: ['spaces:read'] })
  })

  test.each([
    ['the same permissions need no decision', declared, undefined, ['spaces:read']],
    ['fewer need none, and a removed one is no longer approved', ['files:read'], undefined, []],
    ['one more needs a decision', [...declared, 'files:write'], undefined, undefined],
    ['the decision counts', [...declared, 'files:write'], ['files:write'], ['files:write']],
    ['also when it refuses the new one', [...declared, 'files:write'], ['spaces:read'], ['spaces:read']],
  ] as const)('an update: %s', (_, next, nextApproved, result) => {
    expect(approvedAfterUpdate({ declared, approved: ['spaces:read'], next, nextApproved })).toEqual(result)
  })
})

test('a module must support the module interface', () => {
  const module = { id: 'attendance', version: '1.0.0', svcCoreVersion: '>=1.0.0' }
  expect(() => assertCompatible(module)).not.toThrow()
  expect(() => assertCompatible({ ...module, svcCoreVersion: '>=2.0.0' })).toThrow(code('INCOMPATIBLE'))
})

test('a version must be greater than every approved one', () => {
  expect(() => assertNewVersion('1.10.0', ['1.2.0', '1.9.0'])).not.toThrow()
  expect(() => assertNewVersion('1.9.0', ['1.2.0', '1.9.0'])).toThrow(code('VERSION_EXISTS'))
  expect(() => assertNewVersion('1.5.0', ['1.2.0', '1.9.0'])).toThrow(code('VERSION_EXISTS'))
})

test.each([
  ['attendance', 'attendence', true],
  ['attendance', 'attendnace', true],
  ['attendance', 'attendances', true],
  ['attendance', 'ttendance', true],
  ['attendance', 'attendance', false],
  ['attendance', 'presence', false],
  ['abcd', 'acbe', false],
])('%s and %s are one edit apart: %s', (a, b, result) => {
  expect(isOneEditApart(a, b)).toBe(result)
  expect(isOneEditApart(b, a)).toBe(result)
})

test('one removed letter is always found', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-c]{2,12}$/), fc.nat(11), (id, at) => {
      const without = id.slice(0, at % id.length) + id.slice((at % id.length) + 1)
      expect(isOneEditApart(id, without)).toBe(true)
    }),
  )
})

test('usage is recorded for the month in UTC', () => {
  expect(usageEvent('ten_1', 'attendance', '2026-11-30T23:59:59.000Z')).toEqual({
    ...{ tenantId: 'ten_1', moduleId: 'attendance', eventType: 'active', quantity: 1, billingPeriod: '2026-11' },
    createdAt: '2026-11-30T23:59:59.000Z',
  })
})

describe('feature flags', () => {
  test('a flag belongs to one module, and never to one that was set by hand', () => {
    const claim = { flag: 'attendance', moduleId: 'attendance', owner: null, isSetByHand: false }
    expect(() => assertFlagFree(claim)).not.toThrow()
    expect(() => assertFlagFree({ ...claim, owner: 'attendance', isSetByHand: true })).not.toThrow()
    expect(() => assertFlagFree({ ...claim, owner: 'other' })).toThrow(code('FLAG_TAKEN'))
    expect(() => assertFlagFree({ ...claim, isSetByHand: true })).toThrow(code('FLAG_TAKEN'))
  })

  test('flags of active modules are an overlay in which a false set by hand wins', () => {
    expect(withModuleFlags({ chat: true, attendance: false }, ['attendance', 'polls'])).toEqual({
      chat: true,
      attendance: false,
      polls: true,
    })
  })
})

describe('calls of a run', () => {
  const handlers = Object.fromEntries(
    Object.keys(svcCalls).map((name) => [name, async (input: unknown) => ({ name, input })]),
  ) as unknown as SvcHandlers

  test('an approved call reaches its handler with defaults', async () => {
    const answer = await serveCalls([], handlers)('data.list', {})
    expect(answer).toEqual({ value: { name: 'data.list', input: { prefix: '', limit: 100 } } })
  })

  test('a call without its permission is refused and a violation', async () => {
    const answer = await serveCalls(['spaces:read'], handlers)('files.read', { fileId: 'f' })
    expect(answer).toMatchObject({ error: { code: 'PERMISSION' }, violation: { kind: 'permission' } })
  })

  test.each(['constructor', '__proto__', 'toString', 'data', 'files.delete'])('%s is no call', async (name) => {
    expect(await serveCalls(['files:write'], handlers)(name, {})).toMatchObject({ error: { code: 'UNKNOWN_CALL' } })
  })

  test.each([
    ['data.get', { key: '../other' }],
    ['data.get', { key: 'a', tenantId: 'ten_2' }],
    ['data.get', null],
    ['files.write', { spaceId: 's', name: '../x', content: '' }],
    ['data.list', { limit: 5000 }],
  ])('%s %j is refused', async (name, argument) => {
    expect(await serveCalls(['files:write'], handlers)(name, argument)).toMatchObject({ error: { code: 'ARGUMENT' } })
  })

  test('a refusal of a handler reaches the module; a bug does not pass as one', async () => {
    const refusing = { ...handlers, 'data.get': () => Promise.reject(new CallRefused('NOT_FOUND', 'no such document')) }
    expect(await serveCalls([], refusing)('data.get', { key: 'a' })).toEqual({ error: { code: 'NOT_FOUND', message: 'no such document' } })
    const broken = { ...handlers, 'data.get': () => Promise.reject(new Error('database: password=x')) }
    await expect(serveCalls([], broken)('data.get', { key: 'a' })).rejects.toThrow()
  })
})

describe('consent', () => {
  const events = { subscribes: ['space.created'], publishes: [] }

  test('has a sentence for each permission, with the events', () => {
    const texts = consentOf({ type: 'A', permissions: ['files:read', 'events:subscribe'], events })
    expect(texts).toEqual([expect.stringMatching(/^Reads files/), expect.stringMatching(/: space\.created$/)])
  })

  test('names the server that data goes to', () => {
    const dataProcessing = { operator: 'Acme GmbH', country: 'DE', privacyUrl: 'https://acme.example/privacy' }
    const texts = consentOf({ type: 'B', permissions: ['files:read'], events, dataProcessing })
    expect(texts.at(-1)).toMatch(/Acme GmbH \(DE\).*https:\/\/acme/)
  })
})
