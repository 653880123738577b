import { z } from 'zod'
import { adminSetup, type Contract, empty, endpoint, open, Timestamp } from '../contract/index.ts'
import { AccountId, AdminRoleName, LoginBody, SetupStep } from './account.ts'

const base = '/api/admin/v1/console'

const Opened = z.object({
  expiresAt: Timestamp,
  account: z.object({ id: AccountId, name: z.string(), role: AdminRoleName }),
  setup: z.array(SetupStep),
})

/** Sessions of the web console: the cookie that the answer sets counts on every admin endpoint, with the header `X-Tenantry-Console: 1`. */
export const consoleContract = {
  openConsole: endpoint({
    method: 'POST',
    audit: 'session.opened',
    path: `${base}/login`,
    auth: open,
    cost: 'password',
    perAddress: 5,
    body: LoginBody,
    returns: Opened,
    problems: ['LOGIN_FAILED', 'TOTP_REQUIRED', 'ACCOUNT_LOCKED', 'FORBIDDEN', 'CONFIG'],
    summary: 'Log in to the web console; sets a cookie. On TOTP_REQUIRED repeat the call with a code',
  }),
  openConsoleByLink: endpoint({
    method: 'POST',
    audit: 'session.opened',
    path: `${base}/link`,
    auth: open,
    perAddress: 5,
    body: z.strictObject({ token: z.string().min(1).max(100) }),
    returns: Opened,
    problems: ['LOGIN_FAILED', 'FORBIDDEN', 'CONFIG'],
    summary: 'Log in to the web console by the one-time link of a demo, from this machine alone',
  }),
  closeConsole: endpoint({
    method: 'POST',
    audit: 'session.closed',
    path: `${base}/logout`,
    auth: adminSetup,
    returns: empty,
    summary: 'Log out of the web console; deletes its cookie',
  }),
} as const satisfies Contract
