import { expect, test } from 'vitest'
import { contactAudience, sightOf } from '../../../src/core/contacts/index.ts'
import { capabilitiesOf, readRoleBook } from '../../../src/core/users/index.ts'
import { loadRoleBook } from '../../../src/daemon/users/index.ts'

const book = readRoleBook(
  { defaultRole: 'parent', roles: { parent: {}, nurse: { listed: true }, secretary: { capabilities: ['readContacts'] } } },
  'roles.yaml',
)

test('without the capability only holders of listed roles are seen beside those of the same spaces', () => {
  expect(sightOf(book, { capabilities: ['manageSpaces', 'manageUsers'] })).toEqual({ roles: ['nurse'] })
  expect(sightOf(book, { capabilities: ['readContacts'] })).toBe('everybody')
})

test('who is listed is heard of by all, everybody else by those of the same spaces and whoever sees all', () => {
  const user = { userId: 'usr_1', spaces: ['spc_1', 'spc_2'] }
  expect(contactAudience(book, { ...user, roles: ['nurse', 'parent'] })).toBe('tenant')
  const audience = { users: ['usr_1'], capability: 'readContacts' }
  expect(contactAudience(book, { ...user, roles: ['parent'] })).toEqual({ ...audience, spaces: ['spc_1', 'spc_2'] })
  expect(contactAudience(book, { ...user, roles: ['parent'], spaces: [] })).toEqual(audience)
})

test('in the book that the package carries parents and pupils see no other family, and all of the staff is listed', async () => {
  const shipped = await loadRoleBook('config/roles.yaml')
  const sightAs = (role: string) => sightOf(shipped, { capabilities: capabilitiesOf(shipped, { tenantSlug: 'acme', roles: [role] }) })
  const staff = { roles: ['staff', 'teacher', 'tenant-admin'] }
  for (const role of ['member', 'parent', 'student', 'store-reviewer']) expect(sightAs(role)).toEqual(staff)
  for (const role of staff.roles) expect(sightAs(role)).toBe('everybody')
})
