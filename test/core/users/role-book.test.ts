import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { capabilities, isProblem } from '../../../src/core/kit/index.ts'
import { capabilitiesOf, type RoleBook, readRoleBook, unknownRoles } from '../../../src/core/users/index.ts'
import { loadRoleBook } from '../../../src/daemon/users/index.ts'

const book = readRoleBook(
  {
    defaultRole: 'member',
    roles: {
      member: {},
      teacher: { capabilities: ['manageSpaces', 'manageBoards'] },
      head: { capabilities: ['manageUsers', 'manageSpaces'] },
    },
  },
  'roles.yaml',
)

const may = (of: RoleBook, roles: readonly string[]) => capabilitiesOf(of, { tenantSlug: 'acme', roles })

test('reviewStore is granted only in the tenant that operates the store, and nowhere if none is configured', () => {
  const content = { defaultRole: 'member', roles: { member: {}, judge: { capabilities: ['manageBoards', 'reviewStore'] } } }
  const reviewers = readRoleBook(content, 'roles.yaml')
  const as = (tenantSlug: string, operatorTenant?: string) =>
    capabilitiesOf({ ...reviewers, operatorTenant }, { tenantSlug, roles: ['judge'] })
  expect(as('acme', 'acme')).toEqual(['manageBoards', 'reviewStore'])
  expect(as('beta', 'acme')).toEqual(['manageBoards'])
  expect(as('acme')).toEqual(['manageBoards'])
})

test('the shipped role book is valid, and its default role grants nothing', async () => {
  const shipped = await loadRoleBook('config/roles.yaml')
  expect(may(shipped, [shipped.defaultRole])).toEqual([])
  expect(new Set(may({ ...shipped, operatorTenant: 'acme' }, Object.keys(shipped.roles)))).toEqual(new Set(capabilities))
})

test('in the shipped role book teachers build boards, and do not read the runs of others', async () => {
  const shipped = await loadRoleBook('config/roles.yaml')
  expect([may(shipped, ['teacher']), may(shipped, ['principal'])].map((all) => all.includes('manageRuns'))).toEqual([false, true])
  expect(may(shipped, ['teacher'])).toContain('manageBoards')
})

describe('an invalid role book stops the start and names the fields', () => {
  test.each([
    [{}, /defaultRole is missing; roles is missing/],
    [{ defaultRole: 'member', roles: {} }, /roles must name at least one role/],
    [{ defaultRole: 'boss', roles: { member: {} } }, /defaultRole must be one of the roles/],
    [{ defaultRole: 'constructor', roles: { member: {} } }, /defaultRole must be one of the roles/],
    [
      { defaultRole: 'member', roles: { member: { capabilities: ['fly'] } } },
      /roles\.member\.capabilities\.0 must be one of manageModules/,
    ],
    [{ defaultRole: 'member', roles: { member: { capabilities: ['manageUsers', 'manageUsers'] } } }, /must not name a capability twice/],
    [{ defaultRole: 'member', roles: { member: { power: 1 } } }, /roles\.member\.power is not a known field/],
    [{ defaultRole: 'member', roles: { member: {}, 'Big Boss': {} } }, /roles\.Big Boss/],
    [{ defaultRole: 'member', roles: { member: {} }, role: {} }, /role is not a known field/],
    [null, /roles\.yaml/],
  ])('%j', (content, why) => {
    expect(() => readRoleBook(content, 'roles.yaml')).toThrow(why)
  })

  test('a missing role book stops the start', async () => {
    await expect(loadRoleBook('/nowhere/roles.yaml')).rejects.toSatisfy(
      (error) => isProblem(error, 'CONFIG_INVALID') && /ENOENT/.test(error.message),
    )
  })
})

const anyRoles = fc.array(
  fc.oneof(fc.constantFrom('member', 'teacher', 'head', 'gone', '__proto__', 'constructor', 'toString'), fc.string()),
)

test('more roles never grant less, order and repetition do not matter, and unknown roles grant nothing', () => {
  fc.assert(
    fc.property(anyRoles, anyRoles, (one, more) => {
      const [few, many] = [may(book, one), may(book, [...more, ...one])]
      expect(many).toEqual(expect.arrayContaining(few))
      expect(may(book, [...one].reverse().concat(one))).toEqual(few)
      expect(may(book, unknownRoles(book, one))).toEqual([])
      expect(few).toEqual(capabilities.filter((capability) => few.includes(capability)))
    }),
  )
})
