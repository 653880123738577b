import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, adminPerson, type Contract, endpoint, Paging, Timestamp, YesNo } from '../contract/index.ts'
import { ImportBody, ImportReport } from './import-contract.ts'
import { KnownLocalpart, Localpart } from './localpart.ts'
import { DisplayName, Locale, NewPassword, Roles, User, UserStatus } from './user.ts'

const base = '/api/admin/v1/tenants/:slug/users'
const ofTenant = z.object({ slug: Slug })
const one = z.object({ slug: Slug, localpart: KnownLocalpart })

const CreateUserBody = z.strictObject({
  localpart: Localpart,
  displayName: DisplayName.optional(),
  locale: Locale.optional(),
  roles: Roles.optional().meta({ description: 'The default is the default role of config/roles.yaml' }),
  password: NewPassword.optional().meta({ description: 'The default is one that is made, and shown once' }),
})

const ChangeUserBody = z
  .strictObject({ displayName: DisplayName.nullable().optional(), locale: Locale.nullable().optional(), roles: Roles.optional() })
  .refine((body) => Object.keys(body).length > 0, 'must change something: displayName, locale or roles')
  .meta({ minProperties: 1 })

/** `password`: the one that was made; null when it was given. `created`: the chat server had no such account, and has one now. */
const ResetPassword = z.object({ user: User, chat: z.enum(['reset', 'created']), password: z.string().nullable() })
export type ResetPassword = z.infer<typeof ResetPassword>

/** What is being said again. `oldPasswords`: who has an older password than the newest; null where no snapshot was named. */
const ReconciledBox = z.object({
  slug: Slug,
  users: z.number().int(),
  spaces: z.number().int(),
  takenAt: Timestamp.nullable(),
  oldPasswords: z.number().int().nullable(),
})
export type ReconciledBox = z.infer<typeof ReconciledBox>

const Reason = z.strictObject({ reason: z.string().trim().min(1).max(500) })

/** `existed`: the chat server had the account, and its password stays what it was. */
const CreatedUser = z.object({ user: User, chat: z.enum(['created', 'existed']), password: z.string().nullable() })
export type CreatedUser = z.infer<typeof CreatedUser>

/** The users of tenants, as operators manage them. */
export const usersContract = {
  listUsers: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    params: ofTenant,
    query: Paging.extend({
      status: UserStatus.optional(),
      withoutPassword: YesNo.optional().meta({ description: 'Only those whose password nobody knows' }),
      oldPassword: YesNo.optional().meta({ description: 'Only those whose newest password a restore has taken back' }),
    }),
    returns: z.object({ users: z.array(User), nextCursor: z.string().nullable() }),
    summary: 'Users of a tenant by name',
  }),
  createUser: endpoint({
    method: 'POST',
    path: base,
    auth: admin('operator'),
    params: ofTenant,
    body: CreateUserBody,
    returns: CreatedUser,
    status: 201,
    problems: ['ALREADY_EXISTS', 'CONFLICT', 'HOMESERVER_UNREACHABLE'],
    summary: 'Make a user here and in the chat server; an account that exists there is taken over as it is',
  }),
  importUsers: endpoint({
    method: 'POST',
    path: '/api/admin/v1/tenants/:slug/user-imports',
    auth: adminPerson('admin'),
    params: ofTenant,
    body: ImportBody,
    bodyLimit: 12_000_000,
    returns: ImportReport,
    problems: ['HOMESERVER_UNREACHABLE'],
    summary: 'Make users from a CSV file; nobody who exists is changed. Long files are worked off in several calls',
  }),
  showUser: endpoint({
    method: 'GET',
    path: `${base}/:localpart`,
    auth: admin('viewer'),
    params: one,
    returns: User,
    summary: 'One user',
  }),
  changeUser: endpoint({
    method: 'PATCH',
    path: `${base}/:localpart`,
    auth: admin('operator'),
    params: one,
    body: ChangeUserBody,
    returns: User,
    summary: 'Say what a user may do and how it is called; what is not named stays. Roles count from the next request',
  }),
  resetUserPassword: endpoint({
    method: 'POST',
    path: `${base}/:localpart/reset-password`,
    auth: admin('operator'),
    params: one,
    body: z
      .strictObject({
        password: NewPassword.optional().meta({ description: 'The default is one that is made, and shown once' }),
        logOutDevices: z.boolean().default(false).meta({ description: 'End the chat sessions of its devices too' }),
      })
      .default({ logOutDevices: false }),
    returns: ResetPassword,
    problems: ['CONFLICT', 'HOMESERVER_UNREACHABLE'],
    summary: 'Give a user another password and end all platform sessions; a chat account that is missing is made',
  }),
  reconcileBox: endpoint({
    method: 'POST',
    path: '/api/admin/v1/boxes/:slug/reconcile',
    auth: admin('operator'),
    params: ofTenant,
    body: z
      .strictObject({
        snapshot: z
          .string()
          .regex(/^[0-9a-f]{8,64}$/, 'must be the id of a snapshot, or at least its first eight characters')
          .optional()
          .meta({ description: 'Whose data the box has now' }),
      })
      .default({}),
    returns: ReconciledBox,
    status: 202,
    problems: ['CONFLICT'],
    summary: 'Say users and rooms to the chat of a box again, after its data was brought back without the platform',
  }),
  disableUser: endpoint({
    method: 'POST',
    path: `${base}/:localpart/disable`,
    auth: admin('operator'),
    params: one,
    body: Reason,
    returns: User,
    summary: 'End all sessions of a user within a second and lock it out of the chat; again only tells the chat again',
  }),
  enableUser: endpoint({
    method: 'POST',
    path: `${base}/:localpart/enable`,
    auth: admin('operator'),
    params: one,
    returns: User,
    summary: 'Let a user log in again, here and in the chat; sessions that ended stay ended',
  }),
} as const satisfies Contract
