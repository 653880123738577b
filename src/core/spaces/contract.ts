import { z } from 'zod'
import { type Contract, empty, endpoint, Paging, platform, Timestamp } from '../contract/index.ts'
import { UserKey } from '../users/index.ts'
import { Space, SpaceMember, SpaceName, SpaceRole, SpaceType, SpaceVisibility } from './space.ts'

const base = '/api/platform/v1/spaces'

const SpaceKey = z.string().regex(/^spc_[0-9a-z]{20}$/, 'must be the id of a space')
export const ofSpace = z.object({ spaceId: SpaceKey })
const ofMember = z.object({ spaceId: SpaceKey, userId: UserKey })

const CreateSpaceBody = z.strictObject({ name: SpaceName, type: SpaceType, visibility: SpaceVisibility })

const ChangeSpaceBody = z
  .strictObject({ name: SpaceName.optional(), visibility: SpaceVisibility.optional() })
  .refine((body) => Object.keys(body).length > 0, 'must change something: name or visibility')
  .meta({ minProperties: 1 })

/** Something that happened in a space: ids only, as the event stream has it. */
const Activity = z.object({
  id: z.string(),
  at: Timestamp,
  type: z.string().meta({ description: 'Such as user.joined or file.created' }),
  actorId: z.string().nullable().meta({ description: 'The user who did it; null: the platform itself' }),
  ids: z.record(z.string(), z.string()),
})
export type Activity = z.infer<typeof Activity>

/** The spaces of a tenant, for its users. What a user may not find is answered as if it were not there. */
export const spacesContract = {
  createSpace: endpoint({
    method: 'POST',
    path: base,
    auth: platform('manageSpaces'),
    body: CreateSpaceBody,
    returns: Space,
    status: 201,
    summary: 'Make a space, with its maker as owner; waits up to 5 s for the chat server, which else follows when it can',
    spec: '4.3',
  }),
  listSpaces: endpoint({
    method: 'GET',
    path: base,
    auth: platform(),
    query: Paging,
    returns: z.object({ spaces: z.array(Space), nextCursor: z.string().nullable() }),
    summary: 'Spaces that the caller may find',
  }),
  showSpace: endpoint({ method: 'GET', path: `${base}/:spaceId`, auth: platform(), params: ofSpace, returns: Space, summary: 'One space' }),
  changeSpace: endpoint({
    method: 'PATCH',
    path: `${base}/:spaceId`,
    auth: platform(),
    params: ofSpace,
    body: ChangeSpaceBody,
    returns: Space,
    problems: ['FORBIDDEN'],
    summary: 'Name a space anew, or say who finds it; for its owners',
  }),
  deleteSpace: endpoint({
    method: 'DELETE',
    path: `${base}/:spaceId`,
    auth: platform(),
    params: ofSpace,
    returns: empty,
    problems: ['FORBIDDEN'],
    summary: 'Delete a space with its rooms; for its owners',
  }),
  listSpaceMembers: endpoint({
    method: 'GET',
    path: `${base}/:spaceId/members`,
    auth: platform(),
    params: ofSpace,
    query: Paging,
    returns: z.object({ members: z.array(SpaceMember), nextCursor: z.string().nullable() }),
    summary: 'Who is in a space; for its members',
  }),
  putSpaceMember: endpoint({
    method: 'PUT',
    path: `${base}/:spaceId/members/:userId`,
    auth: platform(),
    params: ofMember,
    body: z.strictObject({ role: SpaceRole.default('member') }),
    returns: SpaceMember,
    problems: ['FORBIDDEN', 'CONFLICT'],
    summary: 'Put a user into a space or give it another role, for owners; with the own id: join a public one. Again changes nothing',
  }),
  removeSpaceMember: endpoint({
    method: 'DELETE',
    path: `${base}/:spaceId/members/:userId`,
    auth: platform(),
    params: ofMember,
    returns: empty,
    problems: ['FORBIDDEN', 'CONFLICT'],
    summary: 'Put a user out of a space, for owners; with the own id: leave it',
  }),
  spaceActivity: endpoint({
    method: 'GET',
    path: `${base}/:spaceId/activity`,
    auth: platform(),
    params: ofSpace,
    query: Paging,
    returns: z.object({ activity: z.array(Activity), nextCursor: z.string().nullable() }),
    summary: 'What happened in a space in the last 90 days, newest first; for its members',
    spec: '4.3',
  }),
} as const satisfies Contract
