import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, empty, endpoint, open, Paging, platform, Timestamp, YesNo } from '../contract/index.ts'
import { NewPassword } from '../users/index.ts'

const base = '/api/auth/v1'

/** Synapse reads no more than 512 characters of a password. */
const Password = z.string().min(1).max(512)

const Username = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^@:][^:]*$/, 'must be the name alone: no @ before it and no :domain after it')

const SessionId = z.string().regex(/^ses_[0-9a-z]{20}$/, 'must be the id of a session')
const RefreshToken = z.string().min(1).max(512)

/** A refused login says nothing more than the code (SECURITY); a lock is the same whether the account exists or not. */
const loginProblems = ['LOGIN_FAILED', 'ACCOUNT_LOCKED', 'HOMESERVER_UNREACHABLE'] as const

export const Session = z.object({
  id: SessionId,
  deviceName: z.string(),
  /** The network that it was opened from: /24 of IPv4, /56 of IPv6. */
  network: z.string(),
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  expiresAt: Timestamp,
})
export type Session = z.output<typeof Session>

/**
 * What ended a session: the user (here or from another device), an operator, a refresh token that was used twice, that the user was disabled or got
 * another password, or a newer login when there were too many.
 */
export const EndedBy = z.enum(['logout', 'user', 'admin', 'reuse', 'disabled', 'reset', 'too_many'])
export type EndedBy = z.infer<typeof EndedBy>

const most = z.int().meta({ description: 'So many may be open at a time: the next login ends the one that was unused for longest' })
const page = { nextCursor: z.string().nullable(), most }

/** Session API (spec 4.1). */
const own = {
  userLogin: endpoint({
    method: 'POST',
    path: `${base}/login`,
    auth: open,
    body: z.strictObject({
      tenant: z.string().min(1).max(255).meta({ description: 'Slug or full chat domain' }),
      username: Username.meta({ description: 'The part before the colon of the chat id, without @' }),
      password: Password,
      deviceName: z.string().max(1000).optional().meta({ description: 'What the device is called in the chat; longer than 100 is cut' }),
      issueRefreshToken: z.boolean().default(false),
    }),
    returns: z.object({
      token: z.string(),
      expiresIn: z.int().meta({ description: 'Seconds' }),
      matrixAccessToken: z.string(),
      matrixUserId: z.string(),
      homeserver: z.string().meta({ description: 'Host name, without scheme' }),
      refreshToken: z.string().optional(),
      refreshTokenExpiresAt: Timestamp.optional(),
    }),
    problems: loginProblems,
    summary: 'Log in to platform and chat at once',
    spec: '4.1',
  }),
  refresh: endpoint({
    method: 'POST',
    path: `${base}/refresh`,
    auth: open,
    body: z.strictObject({ refresh_token: RefreshToken }),
    returns: z.object({ token: z.string(), expiresIn: z.int(), refreshToken: z.string(), refreshTokenExpiresAt: Timestamp }),
    problems: ['REFRESH_TOKEN_INVALID', 'REFRESH_TOKEN_REUSED'],
    summary: 'A new platform token, and a new refresh token in place of the given one; using one twice ends the session',
    spec: '4.1',
  }),
  userLogout: endpoint({
    method: 'POST',
    path: `${base}/logout`,
    auth: open,
    body: z.strictObject({ refresh_token: z.string().max(512).optional() }).default({}),
    returns: empty,
    summary: 'End the session of this refresh token, and that of the platform token sent along; the chat session goes on',
    spec: '4.1',
  }),
  changeUserPassword: endpoint({
    method: 'POST',
    path: `${base}/change-password`,
    auth: platform(),
    body: z.strictObject({ currentPassword: Password, newPassword: NewPassword }),
    returns: empty,
    problems: loginProblems,
    summary: 'Change the own password; open sessions and chat tokens stay valid',
    spec: '4.1',
  }),
  listOwnSessions: endpoint({
    method: 'GET',
    path: `${base}/sessions`,
    auth: platform(),
    query: Paging,
    returns: z.object({ sessions: z.array(Session.extend({ current: z.boolean() })), ...page }),
    summary: 'The own open sessions, newest first',
  }),
  revokeOwnSession: endpoint({
    method: 'DELETE',
    path: `${base}/sessions/:id`,
    auth: platform(),
    params: z.object({ id: SessionId }),
    returns: empty,
    summary: 'End one of the own sessions on every replica within a second',
  }),
} as const satisfies Contract

const others = {
  listUserSessions: endpoint({
    method: 'GET',
    path: '/api/admin/v1/tenants/:slug/sessions',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    query: Paging.extend({
      user: z.string().min(1).max(255).meta({ description: 'The name before the colon of the chat id' }),
      ended: YesNo.default(false).meta({ description: 'Those that were ended, as long as they are kept, and what ended each' }),
    }),
    returns: z.object({
      sessions: z.array(Session.extend({ user: z.string(), endedAt: Timestamp.nullable(), endedBy: EndedBy.nullable() })),
      ...page,
    }),
    summary: 'Open sessions of a user, newest first, or those that were ended',
  }),
  revokeUserSession: endpoint({
    method: 'DELETE',
    path: '/api/admin/v1/tenants/:slug/sessions/:id',
    auth: admin('operator'),
    params: z.object({ slug: Slug, id: SessionId }),
    returns: empty,
    summary: 'End a session of a user on every replica within a second; it can no longer be refreshed',
  }),
} as const satisfies Contract

export const sessionsContract = { ...own, ...others } as const satisfies Contract
