import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, adminPerson, type Contract, endpoint, pagingBy, Timestamp, YesNo } from '../contract/index.ts'
import { ImportBody, ImportReport } from './csv.ts'
import { DisplayName, KnownLocalpart, Locale, Localpart, NewPassword, Roles, User, UserEmail, UserStatus } from './user.ts'

const base = '/api/admin/v1/tenants/:slug/users'
const ofTenant = z.object({ slug: Slug })
const one = z.object({ slug: Slug, localpart: KnownLocalpart })

export const CreateUserBody = z.strictObject({
  localpart: Localpart,
  displayName: DisplayName.optional(),
  locale: Locale.optional(),
  email: UserEmail.optional(),
  roles: Roles.optional().meta({ description: 'Default: the default role of config/roles.yaml' }),
  password: NewPassword.optional().meta({ description: 'Default: a generated password, returned once' }),
})

export const ChangeUserBody = z
  .strictObject({
    displayName: DisplayName.nullable().optional(),
    locale: Locale.nullable().optional(),
    email: UserEmail.nullable().optional(),
    roles: Roles.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must change something: displayName, locale, email or roles')
  .meta({ minProperties: 1 })

/** `password`: the generated one; null when the request named one. `created`: the chat server had no such account. */
const ResetPassword = z.object({ user: User, chat: z.enum(['reset', 'created']), password: z.string().nullable() })
export type ResetPassword = z.infer<typeof ResetPassword>

/** Numbers of users and spaces being synced. `oldPasswords`: users with an outdated password; null when no snapshot was named. */
const ReconciledBox = z.object({
  slug: Slug,
  users: z.number().int(),
  spaces: z.number().int(),
  takenAt: Timestamp.nullable(),
  oldPasswords: z.number().int().nullable(),
})
export type ReconciledBox = z.infer<typeof ReconciledBox>

export const Reason = z.strictObject({ reason: z.string().trim().min(1).max(500) })

/** `existed`: the chat server had the account, which keeps its password. */
const CreatedUser = z.object({ user: User, chat: z.enum(['created', 'existed']), password: z.string().nullable() })
export type CreatedUser = z.infer<typeof CreatedUser>

/** User management by operators. */
export const usersContract = {
  listUsers: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    params: ofTenant,
    query: pagingBy(KnownLocalpart).extend({
      status: UserStatus.optional(),
      withoutPassword: YesNo.optional().meta({ description: 'Only users without a known password' }),
      oldPassword: YesNo.optional().meta({ description: 'Only users whose password a restore reverted to an older one' }),
    }),
    returns: z.object({ users: z.array(User), nextCursor: z.string().nullable() }),
    summary: 'List users of a tenant by name',
  }),
  createUser: endpoint({
    method: 'POST',
    audit: 'user.created',
    path: base,
    auth: admin('operator'),
    params: ofTenant,
    body: CreateUserBody,
    returns: CreatedUser,
    status: 201,
    problems: ['ALREADY_EXISTS', 'CONFLICT', 'HOMESERVER_UNREACHABLE'],
    summary: 'Create a user and its chat account; an existing chat account is adopted unchanged',
  }),
  importUsers: endpoint({
    method: 'POST',
    audit: 'user.created',
    path: '/api/admin/v1/tenants/:slug/user-imports',
    auth: adminPerson('admin'),
    cost: 'remote',
    params: ofTenant,
    body: ImportBody,
    bodyLimit: 12_000_000,
    returns: ImportReport,
    problems: ['HOMESERVER_UNREACHABLE'],
    summary: 'Create users from a CSV file; `update` corrects names of existing ones. Long files take several calls',
  }),
  showUser: endpoint({
    method: 'GET',
    path: `${base}/:localpart`,
    auth: admin('viewer'),
    params: one,
    returns: User,
    summary: 'Show a user',
  }),
  changeUser: endpoint({
    method: 'PATCH',
    audit: 'user.changed',
    path: `${base}/:localpart`,
    auth: admin('operator'),
    params: one,
    body: ChangeUserBody,
    returns: User,
    problems: ['CONFLICT'],
    summary: 'Change roles, display name, locale or mail address of a user. Roles take effect with the next request',
  }),
  resetUserPassword: endpoint({
    method: 'POST',
    audit: 'user.password-reset',
    path: `${base}/:localpart/reset-password`,
    auth: admin('operator'),
    params: one,
    body: z
      .strictObject({
        password: NewPassword.optional().meta({ description: 'Default: a generated password, returned once' }),
        logOutDevices: z.boolean().default(false).meta({ description: 'Also end the chat sessions of all devices' }),
      })
      .default({ logOutDevices: false }),
    returns: ResetPassword,
    problems: ['CONFLICT', 'HOMESERVER_UNREACHABLE'],
    summary: 'Reset the password of a user and end all platform sessions; creates a missing chat account',
  }),
  reconcileBox: endpoint({
    method: 'POST',
    audit: 'box.reconcile',
    path: '/api/admin/v1/boxes/:slug/reconcile',
    auth: admin('operator'),
    cost: 'import',
    params: ofTenant,
    body: z
      .strictObject({
        snapshot: z
          .string()
          .regex(/^[0-9a-f]{8,64}$/, 'must be the id of a snapshot, or at least its first eight characters')
          .optional()
          .meta({ description: 'The snapshot whose data the box has' }),
      })
      .default({}),
    returns: ReconciledBox,
    status: 202,
    problems: ['CONFLICT'],
    summary: 'Re-sync users and spaces to the chat server of a box whose data was restored outside the platform',
  }),
  disableUser: endpoint({
    method: 'POST',
    audit: 'user.disabled',
    path: `${base}/:localpart/disable`,
    auth: admin('operator'),
    params: one,
    body: Reason,
    returns: User,
    problems: ['CONFLICT'],
    summary: 'End all sessions of a user within a second and lock its chat account; a repeat only re-syncs the lock',
  }),
  enableUser: endpoint({
    method: 'POST',
    audit: 'user.enabled',
    path: `${base}/:localpart/enable`,
    auth: admin('operator'),
    params: one,
    returns: User,
    problems: ['CONFLICT'],
    summary: 'Allow a user to log in again, to platform and chat; ended sessions stay ended',
  }),
} as const satisfies Contract
