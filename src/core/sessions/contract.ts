import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, empty, endpoint, open, Paging, platformSetup, Timestamp, YesNo } from '../contract/index.ts'
import { NewPassword } from '../users/index.ts'

const base = '/api/auth/v1'

/** Synapse accepts at most 512 characters. */
const Password = z.string().min(1).max(512)

const Username = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^@:][^:]*$/, 'must be the name alone, without @ and :domain')

const SessionId = z.string().regex(/^ses_[0-9a-z]{20}$/, 'must be the id of a session')
const RefreshToken = z.string().min(1).max(512)

export const Session = z.object({
  id: SessionId,
  deviceName: z.string(),
  /** The network of the login: /24 of IPv4, /56 of IPv6. */
  network: z.string(),
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  expiresAt: Timestamp,
})
export type Session = z.output<typeof Session>

/**
 * Why a session ended. `logout` and `user`: by its user, in this session or from another. `reuse`: its refresh token was used twice.
 * `too_many`: a newer login exceeded the session limit.
 */
export const EndedBy = z.enum(['logout', 'user', 'admin', 'reuse', 'disabled', 'reset', 'too_many'])
export type EndedBy = z.infer<typeof EndedBy>

const most = z.int().meta({ description: 'Maximum number of open sessions; a login beyond it ends the least recently used one' })
const page = { nextCursor: z.string().nullable(), most }

/** Session API (spec 4.1). */
const own = {
  userLogin: endpoint({
    method: 'POST',
    audit: { none: 'logins of users are sessions, and failed ones are counted' },
    path: `${base}/login`,
    auth: open,
    body: z.strictObject({
      tenant: z.string().min(1).max(255).meta({ description: 'Slug or chat domain' }),
      username: Username.meta({ description: 'Localpart of the chat id, without @' }),
      password: Password,
      deviceName: z.string().max(1000).optional().meta({ description: 'Name of the device in the chat, cut to 100 characters' }),
      issueRefreshToken: z.boolean().default(false),
      chat: z.boolean().default(true).meta({ description: 'false: for programs that do not chat; no device stays in the chat' }),
    }),
    // A refused login returns nothing but the code. An account locks whether it exists or not. Only the right password shows a suspension.
    returns: z.object({
      token: z.string(),
      expiresIn: z.int().meta({ description: 'Seconds' }),
      matrixAccessToken: z.string().meta({ description: 'Empty after a login with `chat: false`, and while `passwordChangeRequired`' }),
      matrixUserId: z.string(),
      homeserver: z.string().meta({ description: 'Host name, without scheme' }),
      passwordChangeRequired: z
        .literal(true)
        .optional()
        .meta({ description: 'The password is an initial one: until it is changed, all else answers SETUP_REQUIRED' }),
      refreshToken: z.string().optional(),
      refreshTokenExpiresAt: Timestamp.optional(),
    }),
    problems: ['LOGIN_FAILED', 'TENANT_SUSPENDED', 'ACCOUNT_LOCKED', 'HOMESERVER_UNREACHABLE'],
    summary: 'Log in to platform and chat',
    spec: '4.1',
  }),
  refresh: endpoint({
    method: 'POST',
    audit: { none: 'continues a session' },
    path: `${base}/refresh`,
    auth: open,
    body: z.strictObject({ refresh_token: RefreshToken }),
    returns: z.object({ token: z.string(), expiresIn: z.int(), refreshToken: z.string(), refreshTokenExpiresAt: Timestamp }),
    problems: ['REFRESH_TOKEN_INVALID', 'REFRESH_TOKEN_REUSED'],
    summary: 'Exchange a refresh token for a new token pair; using a refresh token twice ends the session',
    spec: '4.1',
  }),
  userLogout: endpoint({
    method: 'POST',
    audit: { none: 'users end their own sessions' },
    path: `${base}/logout`,
    auth: open,
    body: z.strictObject({ refresh_token: z.string().max(512).optional() }).default({}),
    returns: empty,
    summary: 'End the sessions of the refresh token and the platform token of the request; the chat session continues',
    spec: '4.1',
  }),
  changeUserPassword: endpoint({
    method: 'POST',
    audit: 'user.password-changed',
    path: `${base}/change-password`,
    auth: platformSetup,
    body: z.strictObject({ currentPassword: Password, newPassword: NewPassword }),
    returns: empty,
    problems: ['WRONG_PASSWORD', 'ACCOUNT_LOCKED', 'HOMESERVER_UNREACHABLE'],
    summary: 'Change your password; sessions and chat tokens stay valid',
    spec: '4.1',
  }),
  listOwnSessions: endpoint({
    method: 'GET',
    path: `${base}/sessions`,
    auth: platformSetup,
    query: Paging,
    returns: z.object({ sessions: z.array(Session.extend({ current: z.boolean() })), ...page }),
    summary: 'List your open sessions, newest first',
  }),
  revokeOwnSession: endpoint({
    method: 'DELETE',
    audit: { none: 'users end their own sessions' },
    path: `${base}/sessions/:id`,
    auth: platformSetup,
    params: z.object({ id: SessionId }),
    returns: empty,
    summary: 'End one of your sessions, on every replica within a second',
  }),
} as const satisfies Contract

const others = {
  listUserSessions: endpoint({
    method: 'GET',
    path: '/api/admin/v1/tenants/:slug/sessions',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    query: Paging.extend({
      user: z.string().min(1).max(255).meta({ description: 'Localpart of the chat id' }),
      ended: YesNo.default(false).meta({ description: 'List ended sessions with the reason, until they are deleted' }),
    }),
    returns: z.object({
      sessions: z.array(Session.extend({ user: z.string(), endedAt: Timestamp.nullable(), endedBy: EndedBy.nullable() })),
      ...page,
    }),
    summary: 'List open or ended sessions of a user, newest first',
  }),
  revokeUserSession: endpoint({
    method: 'DELETE',
    audit: 'user-session.revoked',
    path: '/api/admin/v1/tenants/:slug/sessions/:id',
    auth: admin('operator'),
    params: z.object({ slug: Slug, id: SessionId }),
    returns: empty,
    summary: 'End a session of a user, on every replica within a second; it cannot be refreshed',
  }),
} as const satisfies Contract

export const sessionsContract = { ...own, ...others } as const satisfies Contract
