import { expect, test } from 'vitest'
import type { Capability } from '../../../src/core/kit/index.ts'
import { type SpaceRole, type SpaceVisibility, spaceRights } from '../../../src/core/spaces/index.ts'

const granted = (visibility: SpaceVisibility, role: SpaceRole | null, capabilities: Capability[] = []) =>
  Object.entries(spaceRights({ visibility, role }, { capabilities }))
    .filter(([, may]) => may)
    .map(([right]) => right)
    .join(' ')

const administrator: Capability[] = ['manageSpaces', 'manageUsers']

test.each([
  ['PRIVATE', null, [], ''],
  ['PRIVATE', null, ['manageSpaces'], ''],
  ['PRIVATE', null, administrator, 'find seeMembers manage'],
  ['PRIVATE', 'member', [], 'find enter seeMembers'],
  ['PRIVATE', 'owner', [], 'find enter seeMembers manage'],
  ['TENANT', null, [], 'find'],
  ['TENANT', null, ['manageSpaces'], 'find'],
  ['TENANT', 'member', [], 'find enter seeMembers'],
  ['PUBLIC', null, [], 'find join'],
  ['PUBLIC', 'member', administrator, 'find enter seeMembers join manage'],
] as [SpaceVisibility, SpaceRole | null, Capability[], string][])(
  'in a %s space, role %s with %j grants: %s',
  (visibility, role, capabilities, rights) => {
    expect(granted(visibility, role, capabilities)).toBe(rights)
  },
)
