import { z } from 'zod'
import { Branding } from '../branding/index.ts'
import { Capability, type Contract, empty, endpoint, open, platformSetup } from '../contract/index.ts'
import { sessionsContract } from '../sessions/index.ts'
import { RoleName } from '../users/index.ts'

const base = '/api/auth/v1/school'

const SchoolSession = z.object({
  tenant: z.object({ slug: z.string(), name: z.string() }),
  branding: Branding,
  user: z.object({
    userId: z.string(),
    username: z.string(),
    displayName: z.string().nullable(),
    locale: z.string().nullable(),
    roles: z.array(z.string()),
  }),
  capabilities: z.array(Capability),
  roles: z
    .array(z.object({ name: RoleName, title: z.string(), isGrantable: z.boolean() }))
    .meta({ description: 'All roles; you give out those whose capabilities you have' }),
  passwordChangeRequired: z
    .boolean()
    .meta({ description: 'The password is an initial one: until it is changed, all else answers SETUP_REQUIRED' }),
})
export type SchoolSession = Readonly<z.infer<typeof SchoolSession>>

/** Sessions of the page at `/school`: its cookie counts on endpoints of users, with the header `X-Tenantry-School: 1`. */
export const schoolContract = {
  openSchool: endpoint({
    method: 'POST',
    audit: { none: 'logins of users are sessions, and failed ones are counted' },
    path: `${base}/login`,
    auth: open,
    body: sessionsContract.userLogin.body.pick({ tenant: true, username: true, password: true }),
    returns: z.object({ passwordChangeRequired: z.boolean() }),
    problems: ['LOGIN_FAILED', 'TENANT_SUSPENDED', 'ACCOUNT_LOCKED', 'HOMESERVER_UNREACHABLE', 'FORBIDDEN', 'CONFIG'],
    summary: 'Log in to the page of a school; sets a cookie, and leaves no device in the chat',
  }),
  showSchool: endpoint({
    method: 'GET',
    path: `${base}/session`,
    auth: platformSetup,
    returns: SchoolSession,
    summary: 'Show user, capabilities and roles of the session; a call of the page by a person prolongs its cookie',
  }),
  closeSchool: endpoint({
    method: 'POST',
    audit: { none: 'users end their own sessions' },
    path: `${base}/logout`,
    auth: platformSetup,
    returns: empty,
    problems: ['FORBIDDEN', 'CONFIG'],
    summary: 'Log out of the page of a school; ends the session and deletes the cookie',
  }),
} as const satisfies Contract
