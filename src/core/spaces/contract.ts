import { z } from 'zod'
import { type Contract, empty, endpoint, Paging, pagingBy, platform, Timestamp } from '../contract/index.ts'
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

/** An event in a space. Contains ids only, like the event stream. */
const Activity = z.object({
  id: z.string(),
  at: Timestamp,
  type: z.string().meta({ description: 'Event type, such as user.joined or file.created' }),
  actorId: z.string().nullable().meta({ description: 'The acting user; null: the platform' }),
  ids: z.record(z.string(), z.string()),
})
export type Activity = z.infer<typeof Activity>

/** The spaces of a tenant, for its users. Returns 404 for both missing and hidden spaces. */
export const spacesContract = {
  createSpace: endpoint({
    method: 'POST',
    audit: 'space.created',
    path: base,
    auth: platform('manageSpaces'),
    body: CreateSpaceBody,
    returns: Space,
    status: 201,
    summary: 'Create a space that you own; waits up to 5 s for its chat rooms, which else are created later',
    spec: '4.3',
  }),
  listSpaces: endpoint({
    method: 'GET',
    path: base,
    auth: platform(),
    query: pagingBy(SpaceKey),
    returns: z.object({ spaces: z.array(Space), nextCursor: z.string().nullable() }),
    summary: 'List the spaces that you can find',
  }),
  showSpace: endpoint({
    method: 'GET',
    path: `${base}/:spaceId`,
    auth: platform(),
    params: ofSpace,
    returns: Space,
    summary: 'Show a space',
  }),
  changeSpace: endpoint({
    method: 'PATCH',
    audit: 'space.updated',
    path: `${base}/:spaceId`,
    auth: platform(),
    params: ofSpace,
    body: ChangeSpaceBody,
    returns: Space,
    problems: ['FORBIDDEN'],
    summary: 'Change name or visibility of a space (owners only)',
  }),
  deleteSpace: endpoint({
    method: 'DELETE',
    audit: 'space.deleted',
    path: `${base}/:spaceId`,
    auth: platform(),
    params: ofSpace,
    returns: empty,
    problems: ['FORBIDDEN'],
    summary: 'Delete a space and its rooms (owners only)',
  }),
  listSpaceMembers: endpoint({
    method: 'GET',
    path: `${base}/:spaceId/members`,
    auth: platform(),
    params: ofSpace,
    query: pagingBy(UserKey),
    returns: z.object({ members: z.array(SpaceMember), nextCursor: z.string().nullable() }),
    summary: 'List the members of a space (members only)',
  }),
  putSpaceMember: endpoint({
    method: 'PUT',
    audit: ['space.member-added', 'space.member-changed'],
    path: `${base}/:spaceId/members/:userId`,
    auth: platform(),
    params: ofMember,
    body: z.strictObject({ role: SpaceRole.default('member') }),
    returns: SpaceMember,
    problems: ['FORBIDDEN', 'CONFLICT'],
    summary: 'Add a member or change its role (owners only); with your own id: join a public space. Idempotent',
  }),
  removeSpaceMember: endpoint({
    method: 'DELETE',
    audit: 'space.member-removed',
    path: `${base}/:spaceId/members/:userId`,
    auth: platform(),
    params: ofMember,
    returns: empty,
    problems: ['FORBIDDEN', 'CONFLICT'],
    summary: 'Remove a member (owners only); with your own id: leave the space',
  }),
  spaceActivity: endpoint({
    method: 'GET',
    path: `${base}/:spaceId/activity`,
    auth: platform(),
    params: ofSpace,
    query: Paging,
    returns: z.object({ activity: z.array(Activity), nextCursor: z.string().nullable() }),
    summary: 'List the activity of a space in the last 90 days, newest first (members only)',
    spec: '4.3',
  }),
} as const satisfies Contract
