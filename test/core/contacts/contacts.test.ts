import { expect, test } from 'vitest'
import { contactAudience, contactsContract, visibilityOf } from '../../../src/core/contacts/index.ts'

import { capabilitiesOf, readRoleBook } from '../../../src/core/users/index.ts'
import { loadRoleBook } from '../../../src/daemon/users/index.ts'

const searched = (search: string) => contactsContract.listContacts.query.safeParse({ search })

test.each([' ', '\u0301', '\u0301 \u0308', '\u00a8'])(
  'a search without letters is refused, and the error names the field: %j',
  (search) => {
    expect(searched(search).error?.issues[0]?.path).toEqual(['search'])
  },
)

test.each(['e', 'e\u0301', '\u0301e', '%', '-'])('a search for characters of names is accepted: %j', (search) => {
  expect(searched(search).success).toBe(true)
})

const book = readRoleBook(
  { defaultRole: 'parent', roles: { parent: {}, nurse: { listed: true }, secretary: { capabilities: ['readContacts'] } } },
  'roles.yaml',
)

test('without readContacts a user sees only listed roles beside the members of its spaces', () => {
  expect(visibilityOf(book, { capabilities: ['manageSpaces', 'manageUsers'] })).toEqual({ roles: ['nurse'] })
  expect(visibilityOf(book, { capabilities: ['readContacts'] })).toBe('everyone')
})

test('events about users with a listed role reach the whole tenant, others the members of their spaces and readContacts', () => {
  const user = { userId: 'usr_1', spaces: ['spc_1', 'spc_2'] }
  expect(contactAudience(book, { ...user, roles: ['nurse', 'parent'] })).toBe('tenant')
  const audience = { users: ['usr_1'], capability: 'readContacts' }
  expect(contactAudience(book, { ...user, roles: ['parent'] })).toEqual({ ...audience, spaces: ['spc_1', 'spc_2'] })
  expect(contactAudience(book, { ...user, roles: ['parent'], spaces: [] })).toEqual(audience)
})

test('in the shipped role book parents and students see only staff, and all staff roles are listed', async () => {
  const shipped = await loadRoleBook('config/roles.yaml')
  const visibleTo = (role: string) =>
    visibilityOf(shipped, { capabilities: capabilitiesOf(shipped, { tenantSlug: 'acme', roles: [role] }) })
  const staff = { roles: ['staff', 'teacher', 'principal', 'custodian', 'school-admin', 'tenant-admin'] }
  for (const role of ['member', 'parent', 'student', 'store-reviewer']) expect(visibleTo(role)).toEqual(staff)
  for (const role of staff.roles) expect(visibleTo(role)).toBe('everyone')
})
