import { z } from 'zod'
import { adminPerson, adminReauthenticated, type Contract, empty, endpoint, open, Timestamp } from '../contract/index.ts'
import { AccountId, AdminRoleName, SetupStep } from './account.ts'

const base = '/api/admin/v1'

/** Eight letters without vowels, in two groups: `WDJB-MJHT`. */
const UserCode = z
  .string()
  .trim()
  .toUpperCase()
  .regex(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/, 'must be a code such as WDJB-MJHT')

const CliLogin = z.object({
  userCode: UserCode,
  address: z.string().meta({ description: 'The network address of the command line' }),
  createdAt: Timestamp,
  expiresAt: Timestamp,
})
export type CliLogin = z.output<typeof CliLogin>

/** Logins by the company's account (OpenID Connect), and of a command line by a browser that is logged in. */
export const providerContract = {
  showLoginWays: endpoint({
    method: 'GET',
    path: `${base}/console/login-ways`,
    auth: open,
    perAddress: 5,
    returns: z.object({
      provider: z.string().nullable().meta({ description: 'Name of the company account that may log in' }),
      passkeys: z.boolean().meta({ description: 'Browsers allow passkeys at the public address of the daemon' }),
    }),
    summary: 'Show how operators may log in',
  }),
  beginProviderLogin: endpoint({
    method: 'POST',
    audit: { none: 'the login itself is recorded when the provider has answered' },
    path: `${base}/console/provider/begin`,
    auth: open,
    cost: 'remote',
    perAddress: 5,
    body: z.strictObject({
      next: z.string().max(2000).default('/').meta({ description: 'Page of the console to return to' }),
      prove: z.boolean().default(false).meta({ description: 'The person must prove who they are, although logged in at the provider' }),
    }),
    returns: z.object({ address: z.string() }),
    problems: ['FORBIDDEN', 'CONFIG', 'LOGIN_PROVIDER_UNAVAILABLE'],
    summary: 'Begin a login by the company account; sets a cookie, and returns the address of the provider',
  }),
  finishProviderLogin: endpoint({
    method: 'POST',
    audit: 'session.opened',
    path: `${base}/console/provider/finish`,
    auth: open,
    cost: 'remote',
    perAddress: 5,
    body: z.strictObject({ query: z.string().min(1).max(8000).meta({ description: 'The query of the address that the provider led to' }) }),
    returns: z.object({
      next: z.string(),
      expiresAt: Timestamp,
      account: z.object({ id: AccountId, name: z.string(), role: AdminRoleName }),
      setup: z.array(SetupStep),
    }),
    problems: ['LOGIN_FAILED', 'FORBIDDEN', 'CONFIG', 'LOGIN_PROVIDER_UNAVAILABLE', 'CONFLICT'],
    summary: 'Log in to the web console by the answer of the provider; sets a cookie',
  }),
  beginCliLogin: endpoint({
    method: 'POST',
    audit: { none: 'the login itself is recorded when a person has approved it' },
    path: `${base}/cli-logins`,
    auth: open,
    perAddress: 5,
    status: 201,
    returns: z.object({
      deviceCode: z.string(),
      userCode: UserCode,
      page: z.string().meta({ description: 'Address of the page where a person approves it' }),
      expiresAt: Timestamp,
    }),
    problems: ['CONFIG'],
    summary: 'Begin the login of a command line, which a person approves in the web console',
  }),
  showCliLogin: endpoint({
    method: 'GET',
    path: `${base}/cli-logins/:userCode`,
    auth: adminPerson('viewer'),
    params: z.object({ userCode: UserCode }),
    returns: CliLogin,
    summary: 'Show the login of a command line that waits for approval',
  }),
  approveCliLogin: endpoint({
    method: 'POST',
    audit: 'session.approved',
    path: `${base}/cli-logins/:userCode/approve`,
    auth: adminReauthenticated('viewer'),
    params: z.object({ userCode: UserCode }),
    returns: empty,
    problems: ['CONFLICT'],
    summary: 'Approve the login of a command line as your own account',
  }),
  finishCliLogin: endpoint({
    method: 'POST',
    audit: 'session.opened',
    path: `${base}/cli-logins/finish`,
    auth: open,
    perAddress: 5,
    body: z.strictObject({ deviceCode: z.string().min(1).max(100) }),
    returns: z.object({
      session: z
        .object({ token: z.string(), expiresAt: Timestamp, account: z.object({ id: AccountId, name: z.string(), role: AdminRoleName }) })
        .nullable()
        .meta({ description: 'Null until a person has approved it' }),
    }),
    problems: ['LOGIN_FAILED'],
    summary: 'Take the session of an approved login, once',
  }),
} as const satisfies Contract
