import { z } from 'zod'
import { adminPerson, adminSetup, type Contract, empty, endpoint, open, Timestamp, YesNo } from '../contract/index.ts'
import {
  Account,
  AccountId,
  AccountName,
  AdminRoleName,
  ApiToken,
  Code,
  LoginBody,
  NewPassword,
  Password,
  Session,
  SessionId,
  SetupStep,
  TokenId,
} from './account.ts'
import { consoleContract } from './console-contract.ts'

const base = '/api/admin/v1'

const WhoAmI = z.object({
  account: z.object({ id: AccountId, name: z.string(), role: AdminRoleName }),
  sessionId: SessionId.nullable().meta({ description: 'Null for an API token' }),
  token: z.object({ id: TokenId, name: z.string() }).nullable(),
  expiresAt: Timestamp,
  setup: z.array(SetupStep).meta({ description: 'Setup steps to complete before any other call' }),
  totp: z.boolean(),
})

/** The caller's own sessions, password and TOTP. */
const own = {
  login: endpoint({
    method: 'POST',
    path: `${base}/login`,
    auth: open,
    cost: 'password',
    perAddress: 5,
    body: LoginBody,
    returns: z.object({
      token: z.string(),
      expiresAt: Timestamp,
      account: z.object({ id: AccountId, name: z.string(), role: AdminRoleName }),
      setup: z.array(SetupStep),
    }),
    problems: ['LOGIN_FAILED', 'TOTP_REQUIRED', 'ACCOUNT_LOCKED'],
    summary: 'Log in; on TOTP_REQUIRED repeat the call with a TOTP or recovery code',
  }),
  logout: endpoint({ method: 'POST', path: `${base}/logout`, auth: adminSetup, returns: empty, summary: 'Log out' }),
  whoAmI: endpoint({
    method: 'GET',
    path: `${base}/whoami`,
    auth: { kind: 'admin', role: 'viewer', person: false, setup: true },
    returns: WhoAmI,
    summary: 'Show the current identity, role and expiry',
  }),
  changePassword: endpoint({
    method: 'POST',
    path: `${base}/password`,
    auth: adminSetup,
    cost: 'password',
    perAddress: 5,
    body: z.strictObject({ currentPassword: Password, newPassword: NewPassword }),
    returns: empty,
    problems: ['WRONG_PASSWORD', 'ACCOUNT_LOCKED'],
    summary: 'Change your password; your other sessions end',
  }),
  enrolTotp: endpoint({
    method: 'POST',
    path: `${base}/totp/enrol`,
    auth: adminSetup,
    cost: 'password',
    perAddress: 5,
    body: z.strictObject({ password: Password }),
    returns: z.object({ secret: z.string(), uri: z.string().meta({ description: 'otpauth:// address, for a QR code' }) }),
    problems: ['WRONG_PASSWORD', 'ACCOUNT_LOCKED', 'CONFLICT'],
    summary: 'Start TOTP enrolment; returns the secret, shown once',
  }),
  confirmTotp: endpoint({
    method: 'POST',
    path: `${base}/totp/confirm`,
    auth: adminSetup,
    perAddress: 5,
    body: z.strictObject({ totp: Code }),
    returns: z.object({ recoveryCodes: z.array(z.string()) }),
    problems: ['LOGIN_FAILED', 'CONFLICT'],
    summary: 'Enable TOTP with a first code; returns ten recovery codes, shown once',
  }),
  disableTotp: endpoint({
    method: 'POST',
    path: `${base}/totp/disable`,
    auth: adminPerson('viewer'),
    cost: 'password',
    perAddress: 5,
    body: z.strictObject({ password: Password, totp: Code }),
    returns: empty,
    problems: ['WRONG_PASSWORD', 'LOGIN_FAILED', 'ACCOUNT_LOCKED', 'CONFLICT'],
    summary: 'Disable TOTP, where the role does not require it',
  }),
  listSessions: endpoint({
    method: 'GET',
    path: `${base}/sessions`,
    auth: adminPerson('viewer'),
    query: z.strictObject({ all: YesNo.default(false).meta({ description: 'Sessions of every account; needs the role admin' }) }),
    returns: z.object({ sessions: z.array(Session) }),
    summary: 'List open sessions, your own or all',
  }),
  revokeSession: endpoint({
    method: 'DELETE',
    path: `${base}/sessions/:id`,
    auth: adminPerson('viewer'),
    params: z.object({ id: SessionId }),
    returns: empty,
    summary: 'End a session; sessions of others need the role admin',
  }),
} as const satisfies Contract

const accounts = {
  listAccounts: endpoint({
    method: 'GET',
    path: `${base}/accounts`,
    auth: adminPerson('admin'),
    returns: z.object({ accounts: z.array(Account) }),
    summary: 'List accounts',
  }),
  createAccount: endpoint({
    method: 'POST',
    path: `${base}/accounts`,
    auth: adminPerson('admin'),
    cost: 'password',
    body: z.strictObject({ name: AccountName, role: AdminRoleName }),
    status: 201,
    returns: z.object({ account: Account, initialPassword: z.string(), expiresAt: Timestamp }),
    problems: ['ALREADY_EXISTS'],
    summary: 'Create an account; its initial password is shown once and must be changed at the first login',
  }),
  disableAccount: endpoint({
    method: 'POST',
    path: `${base}/accounts/:id/disable`,
    auth: adminPerson('admin'),
    params: z.object({ id: AccountId }),
    returns: Account,
    problems: ['CONFLICT'],
    summary: 'Disable an account; its sessions and API tokens end within a second',
  }),
  resetPassword: endpoint({
    method: 'POST',
    path: `${base}/accounts/:id/reset-password`,
    auth: adminPerson('admin'),
    cost: 'password',
    params: z.object({ id: AccountId }),
    returns: z.object({ account: Account, initialPassword: z.string(), expiresAt: Timestamp }),
    summary: 'Set a new initial password, shown once; the sessions of the account end',
  }),
  changeAccountRole: endpoint({
    method: 'POST',
    path: `${base}/accounts/:id/role`,
    auth: adminPerson('admin'),
    params: z.object({ id: AccountId }),
    body: z.strictObject({ role: AdminRoleName }),
    returns: Account,
    problems: ['CONFLICT'],
    summary: 'Change the role of an account, also for its open sessions',
  }),
} as const satisfies Contract

const tokens = {
  listTokens: endpoint({
    method: 'GET',
    path: `${base}/tokens`,
    auth: adminPerson('admin'),
    returns: z.object({ tokens: z.array(ApiToken) }),
    summary: 'List valid API tokens',
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
    summary: 'Create an API token, shown once; it ends with the account of its creator',
  }),
  revokeToken: endpoint({
    method: 'DELETE',
    path: `${base}/tokens/:id`,
    auth: adminPerson('admin'),
    params: z.object({ id: TokenId }),
    returns: empty,
    summary: 'Revoke an API token',
  }),
} as const satisfies Contract

export const adminContract = { ...own, ...consoleContract, ...accounts, ...tokens } as const satisfies Contract
