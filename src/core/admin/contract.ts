import { z } from 'zod'
import { adminPerson, adminSetup, type Contract, empty, endpoint, open, Timestamp, YesNo } from '../contract/index.ts'
import { Account, AccountId, AccountName, AdminRoleName, ApiToken, NewPassword, Session, SessionId, SetupStep, TokenId } from './account.ts'

const base = '/api/admin/v1'
const Password = z.string().min(1).max(256)
/** Six digits of the app, or a recovery code. */
const Code = z.string().trim().min(6).max(32)

const WhoAmI = z.object({
  account: z.object({ id: AccountId, name: z.string(), role: AdminRoleName }),
  sessionId: SessionId.nullable().meta({ description: 'Null for an API token' }),
  token: z.object({ id: TokenId, name: z.string() }).nullable(),
  expiresAt: Timestamp,
  setup: z.array(SetupStep).meta({ description: 'What must be done before the session may do anything else' }),
  totp: z.boolean(),
})

/** Sessions and one-time codes of the person who calls. `setup` names what a session must finish first: `password`, then `totp`. */
const own = {
  login: endpoint({
    method: 'POST',
    path: `${base}/login`,
    auth: open,
    perAddress: 5,
    body: z.strictObject({ name: z.string().min(1).max(100), password: Password, totp: Code.optional() }),
    returns: z.object({
      token: z.string(),
      expiresAt: Timestamp,
      account: z.object({ id: AccountId, name: z.string(), role: AdminRoleName }),
      setup: z.array(SetupStep),
    }),
    problems: ['LOGIN_FAILED', 'TOTP_REQUIRED', 'ACCOUNT_LOCKED'],
    summary: 'Log in as a person; TOTP_REQUIRED asks for the same call with a one-time or recovery code',
  }),
  logout: endpoint({ method: 'POST', path: `${base}/logout`, auth: adminSetup, returns: empty, summary: 'End the session of this token' }),
  whoAmI: endpoint({
    method: 'GET',
    path: `${base}/whoami`,
    auth: { kind: 'admin', role: 'viewer', person: false, setup: true },
    returns: WhoAmI,
    summary: 'Who the token stands for',
  }),
  changePassword: endpoint({
    method: 'POST',
    path: `${base}/password`,
    auth: adminSetup,
    perAddress: 5,
    body: z.strictObject({ currentPassword: Password, newPassword: NewPassword }),
    returns: empty,
    problems: ['LOGIN_FAILED', 'ACCOUNT_LOCKED'],
    summary: 'Change the own password; other sessions of the account end',
  }),
  enrolTotp: endpoint({
    method: 'POST',
    path: `${base}/totp/enrol`,
    auth: adminSetup,
    perAddress: 5,
    body: z.strictObject({ password: Password }),
    returns: z.object({ secret: z.string(), uri: z.string().meta({ description: 'otpauth:// address, for a QR code' }) }),
    problems: ['LOGIN_FAILED', 'ACCOUNT_LOCKED', 'CONFLICT'],
    summary: 'Begin with one-time codes: a secret for the app, shown once',
  }),
  confirmTotp: endpoint({
    method: 'POST',
    path: `${base}/totp/confirm`,
    auth: adminSetup,
    perAddress: 5,
    body: z.strictObject({ totp: Code }),
    returns: z.object({ recoveryCodes: z.array(z.string()) }),
    problems: ['LOGIN_FAILED', 'CONFLICT'],
    summary: 'Prove the app works; from now on logins need a code. Ten recovery codes, shown once',
  }),
  disableTotp: endpoint({
    method: 'POST',
    path: `${base}/totp/disable`,
    auth: adminPerson('viewer'),
    perAddress: 5,
    body: z.strictObject({ password: Password, totp: Code }),
    returns: empty,
    problems: ['LOGIN_FAILED', 'ACCOUNT_LOCKED', 'CONFLICT'],
    summary: 'Stop asking for one-time codes, where the role does not need them',
  }),
  listSessions: endpoint({
    method: 'GET',
    path: `${base}/sessions`,
    auth: adminPerson('viewer'),
    query: z.strictObject({ all: YesNo.default(false).meta({ description: 'Of every account; needs the role admin' }) }),
    returns: z.object({ sessions: z.array(Session) }),
    summary: 'Open sessions, the own ones or all',
  }),
  revokeSession: endpoint({
    method: 'DELETE',
    path: `${base}/sessions/:id`,
    auth: adminPerson('viewer'),
    params: z.object({ id: SessionId }),
    returns: empty,
    summary: 'End a session on every replica within a second; those of others need the role admin',
  }),
} as const satisfies Contract

const accounts = {
  listAccounts: endpoint({
    method: 'GET',
    path: `${base}/accounts`,
    auth: adminPerson('admin'),
    returns: z.object({ accounts: z.array(Account) }),
    summary: 'All accounts',
  }),
  createAccount: endpoint({
    method: 'POST',
    path: `${base}/accounts`,
    auth: adminPerson('admin'),
    body: z.strictObject({ name: AccountName, role: AdminRoleName }),
    status: 201,
    returns: z.object({ account: Account, initialPassword: z.string(), expiresAt: Timestamp }),
    problems: ['ALREADY_EXISTS'],
    summary: 'A new account; its one-time password is shown once and must be changed at the first login',
  }),
  disableAccount: endpoint({
    method: 'POST',
    path: `${base}/accounts/:id/disable`,
    auth: adminPerson('admin'),
    params: z.object({ id: AccountId }),
    returns: Account,
    problems: ['CONFLICT'],
    summary: 'Shut an account out: its sessions and API tokens end within a second',
  }),
  resetPassword: endpoint({
    method: 'POST',
    path: `${base}/accounts/:id/reset-password`,
    auth: adminPerson('admin'),
    params: z.object({ id: AccountId }),
    returns: z.object({ account: Account, initialPassword: z.string(), expiresAt: Timestamp }),
    summary: 'A new one-time password for an account whose owner lost theirs, shown once; its sessions end',
  }),
  changeAccountRole: endpoint({
    method: 'POST',
    path: `${base}/accounts/:id/role`,
    auth: adminPerson('admin'),
    params: z.object({ id: AccountId }),
    body: z.strictObject({ role: AdminRoleName }),
    returns: Account,
    problems: ['CONFLICT'],
    summary: 'Give an account another role, also in its open sessions',
  }),
} as const satisfies Contract

const tokens = {
  listTokens: endpoint({
    method: 'GET',
    path: `${base}/tokens`,
    auth: adminPerson('admin'),
    returns: z.object({ tokens: z.array(ApiToken) }),
    summary: 'API tokens that still work',
  }),
  createToken: endpoint({
    method: 'POST',
    path: `${base}/tokens`,
    auth: adminPerson('admin'),
    body: z.strictObject({
      name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be 1 to 64 lower-case letters, digits or . _ -'),
      role: z.enum(['viewer', 'reviewer', 'operator']),
      days: z.int().min(1).max(365).default(90),
    }),
    status: 201,
    returns: ApiToken.extend({ token: z.string() }),
    problems: ['ALREADY_EXISTS'],
    summary: 'An API token for scripts, shown once; it ends with the account that made it',
  }),
  revokeToken: endpoint({
    method: 'DELETE',
    path: `${base}/tokens/:id`,
    auth: adminPerson('admin'),
    params: z.object({ id: TokenId }),
    returns: empty,
    summary: 'End an API token on every replica within a second',
  }),
} as const satisfies Contract

export const adminContract = { ...own, ...accounts, ...tokens } as const satisfies Contract
