import { expect, test } from 'vitest'
import type { TenantId, UserId } from '../../../src/core/kit/index.ts'
import { User } from '../../../src/core/users/index.ts'
import { userView } from '../../../src/daemon/users/show-users.ts'

const at = '2026-01-05T02:00:00.000Z'

test('the API shows exactly the fields of the contract', () => {
  const known = { displayName: 'Anna', locale: 'de', avatarUrl: null, roles: ['parent'], status: 'active' } as const
  const kept = {
    createdAt: at,
    updatedAt: at,
    passwordUnknownSince: null,
    passwordVersion: 7,
    email: 'a@b.example',
    hasInitialPassword: false,
  }
  const record = { id: 'usr_1' as UserId, tenantId: 'ten_1' as TenantId, localpart: 'anna', ...known, ...kept }
  const shown = userView({ slug: 'acme', chatDomain: 'acme.example' }, record)
  expect(Object.keys(shown).sort()).toEqual(Object.keys(User.shape).sort())
  expect(User.parse(shown)).toEqual(shown)
})
