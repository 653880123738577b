import { z } from 'zod'
import { Search } from '../contacts/index.ts'
import { type Contract, empty, endpoint, pagingBy, platform, Timestamp } from '../contract/index.ts'
import {
  ChangeUserBody,
  CreateUserBody,
  ImportBody,
  ImportReport,
  importLimits,
  KnownLocalpart,
  NewPassword,
  Reason,
  RoleName,
  User,
  UserKey,
  UserStatus,
} from '../users/index.ts'

const base = '/api/platform/v1/users'
const auth = platform('manageUsers')
const one = z.object({ userId: UserKey })

/** A user as the administration of its tenant sees it. */
export const Person = User.omit({ id: true, tenant: true, passwordUnknownSince: true }).extend({
  userId: z.string(),
  password: z.enum(['set', 'initial', 'unknown']).meta({
    description: '`initial`: the user must replace it at the next login. `unknown`: lost in a restore of the chat server, reset it',
  }),
})
export type Person = z.infer<typeof Person>

const PersonDetails = Person.extend({
  lockedUntil: Timestamp.nullable().meta({ description: 'Too many wrong passwords: no login before, unless the user is unlocked' }),
  openSessions: z.int(),
  linkUntil: Timestamp.nullable().meta({ description: 'A link of a mail sets a password until then' }),
})
export type PersonDetails = z.infer<typeof PersonDetails>

const password = z.string().nullable().meta({ description: 'The generated password; only returned here. Null: the request named one' })
const chat = z.enum(['created', 'existed']).meta({ description: '`existed`: the chat account was there, and keeps its password' })

const invite = z.boolean().default(false).meta({
  description: 'Invite by mail, where there is an address and mail is set up; otherwise an initial password is returned',
})

/** A file of 5 MB as base64. */
const maxFile = Math.ceil(importLimits.bytes / 3) * 4

const ImportPeopleBody = ImportBody.extend({
  csv: ImportBody.shape.csv.optional(),
  file: z
    .base64()
    .max(maxFile, 'must be at most 5 MB')
    .optional()
    .meta({ description: 'The bytes of the file: its encoding is recognised' }),
  encoding: z.string().max(40).optional().meta({ description: 'Encoding of `file`, where it is not recognised' }),
  invite,
}).refine(({ csv, file }) => (csv === undefined) !== (file === undefined), 'must have either csv or file')

/** Users of the own tenant, administered by those with `manageUsers`. */
export const peopleContract = {
  listPeople: endpoint({
    method: 'GET',
    path: base,
    auth,
    query: pagingBy(KnownLocalpart).extend({
      search: Search.optional(),
      status: UserStatus.optional(),
      role: RoleName.optional(),
    }),
    returns: z.object({ users: z.array(Person), nextCursor: z.string().nullable() }),
    summary: 'List the users of your organisation by login name',
  }),
  createPerson: endpoint({
    method: 'POST',
    audit: 'user.created',
    path: base,
    auth,
    body: CreateUserBody.extend({ invite }),
    returns: z.object({ user: Person, chat, password, invitedUntil: Timestamp.nullable() }),
    status: 201,
    problems: ['ALREADY_EXISTS', 'CONFLICT', 'HOMESERVER_UNREACHABLE'],
    summary: 'Create a user, with an invitation by mail or an initial password that must be replaced at the first login',
  }),
  importPeople: endpoint({
    method: 'POST',
    audit: 'user.created',
    path: '/api/platform/v1/user-imports',
    auth,
    cost: 'remote',
    body: ImportPeopleBody,
    bodyLimit: 12_000_000,
    returns: ImportReport.extend({ encoding: z.string().nullable().meta({ description: 'How the letters of `file` were read' }) }),
    problems: ['HOMESERVER_UNREACHABLE'],
    summary: 'Create users from a CSV file; `update` corrects names of existing ones. Long files take several calls',
  }),
  showPerson: endpoint({ method: 'GET', path: `${base}/:userId`, auth, params: one, returns: PersonDetails, summary: 'Show a user' }),
  changePerson: endpoint({
    method: 'PATCH',
    audit: 'user.changed',
    path: `${base}/:userId`,
    auth,
    params: one,
    body: ChangeUserBody,
    returns: Person,
    problems: ['CONFLICT'],
    summary: 'Change name, locale, mail address or roles; you give out only roles whose capabilities you have',
  }),
  disablePerson: endpoint({
    method: 'POST',
    audit: 'user.disabled',
    path: `${base}/:userId/disable`,
    auth,
    params: one,
    body: Reason,
    returns: Person,
    problems: ['CONFLICT'],
    summary: 'End all sessions of a user within a second and lock its chat account',
  }),
  enablePerson: endpoint({
    method: 'POST',
    audit: 'user.enabled',
    path: `${base}/:userId/enable`,
    auth,
    params: one,
    returns: Person,
    problems: ['CONFLICT'],
    summary: 'Allow a user to log in again; ended sessions stay ended',
  }),
  unlockPerson: endpoint({
    method: 'POST',
    audit: 'user.unlocked',
    path: `${base}/:userId/unlock`,
    auth,
    params: one,
    returns: empty,
    problems: ['CONFLICT'],
    summary: 'End the lock of a user after too many wrong passwords',
  }),
  endPersonSessions: endpoint({
    method: 'POST',
    audit: 'user.sessions-ended',
    path: `${base}/:userId/end-sessions`,
    auth,
    params: one,
    returns: empty,
    problems: ['CONFLICT'],
    summary: 'End all sessions of a user within a second; the chat sessions of its devices continue',
  }),
  resetPersonPassword: endpoint({
    method: 'POST',
    audit: 'user.password-reset',
    path: `${base}/:userId/reset-password`,
    auth,
    params: one,
    body: z
      .strictObject({
        password: NewPassword.optional().meta({ description: 'Default: a generated password, returned once' }),
        logOutDevices: z.boolean().default(false).meta({ description: 'Also end the chat sessions of all devices' }),
      })
      .default({ logOutDevices: false }),
    returns: z.object({ user: Person, password }),
    problems: ['CONFLICT', 'HOMESERVER_UNREACHABLE'],
    summary: 'Set an initial password, which the user must replace, and end all its sessions; not your own',
  }),
  invitePerson: endpoint({
    method: 'POST',
    audit: 'user.invited',
    path: `${base}/:userId/invitation`,
    auth,
    params: one,
    returns: z.object({ invitedUntil: Timestamp }),
    problems: ['CONFLICT', 'CONFIG', 'RATE_LIMITED'],
    summary: 'Mail a user a link that sets its password once; nothing changes until it is used',
  }),
  erasePerson: endpoint({
    method: 'POST',
    audit: 'user.erased',
    path: `${base}/:userId/erase`,
    auth,
    params: one,
    returns: Person,
    status: 202,
    problems: ['CONFLICT'],
    summary: 'Erase a user for good: ends its sessions now and queues the removal of its data; can be repeated',
  }),
  exportPerson: endpoint({
    method: 'POST',
    audit: 'user.exported',
    path: `${base}/:userId/export`,
    auth,
    cost: 'export',
    params: one,
    body: z.strictObject({ cursor: z.string().max(2000).optional() }).default({}),
    returns: z.object({
      rows: z.array(z.object({ table: z.string(), row: z.record(z.string(), z.unknown()) })),
      nextCursor: z.string().nullable(),
    }),
    summary: 'Export what the platform stores of one user, a page at a time, without texts of others',
  }),
} as const satisfies Contract
