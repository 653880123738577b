import { z } from 'zod'
import { adminPerson, adminReauthenticated, type Contract, empty, endpoint, open, shownLine, Timestamp } from '../contract/index.ts'
import { AccountId, AdminRoleName, SetupStep } from './account.ts'

const base = '/api/admin/v1'

const PasskeyId = z.string().regex(/^pky_[0-9a-z]{20}$/, 'must be a passkey id (see `tenantry accounts passkeys <account>`)')

const PasskeyName = shownLine(40)

const Passkey = z.object({
  id: PasskeyId,
  name: z.string(),
  createdAt: Timestamp,
  lastUsedAt: Timestamp.nullable(),
})
export type Passkey = z.output<typeof Passkey>

/** Bytes in base64url. */
const bytes = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url')

const Key = z.object({ type: z.literal('public-key'), id: z.string() })
const UserVerification = z.literal('required')

/** The options of `navigator.credentials.create`, with bytes in base64url. */
const Creation = z.object({
  challenge: z.string(),
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
  timeout: z.int(),
  excludeCredentials: z.array(Key),
  authenticatorSelection: z.object({
    residentKey: z.literal('required'),
    requireResidentKey: z.boolean(),
    userVerification: UserVerification,
  }),
  attestation: z.literal('none'),
})
export type PasskeyCreation = z.output<typeof Creation>

/** The options of `navigator.credentials.get`, with bytes in base64url. */
const Request = z.object({ challenge: z.string(), rpId: z.string(), timeout: z.int(), userVerification: UserVerification })
export type PasskeyRequest = z.output<typeof Request>

const credentialId = bytes(1400)
const clientDataJSON = bytes(4000)

/** The answer of a browser that made a passkey. */
const Attestation = z.strictObject({ id: credentialId, clientDataJSON, attestationObject: bytes(8000) })
export type PasskeyAttestation = z.output<typeof Attestation>

/** The answer of a browser at a login. */
const Assertion = z.strictObject({
  id: credentialId,
  clientDataJSON,
  authenticatorData: bytes(4000),
  signature: bytes(2000),
  userHandle: bytes(100),
})
export type PasskeyAssertion = z.output<typeof Assertion>

const bodyLimit = 32 * 1024

/** Passkeys of accounts with a password, for the web console. */
export const passkeyContract = {
  listPasskeys: endpoint({
    method: 'GET',
    path: `${base}/passkeys`,
    auth: adminPerson('viewer'),
    query: z.strictObject({ account: AccountId.optional().meta({ description: 'Another account; needs the role admin' }) }),
    returns: z.object({ passkeys: z.array(Passkey) }),
    problems: ['NOT_FOUND'],
    summary: 'List passkeys, your own or of an account',
  }),
  beginPasskey: endpoint({
    method: 'POST',
    audit: { none: 'the passkey is recorded when the browser has made it' },
    path: `${base}/passkeys/begin`,
    auth: adminReauthenticated('viewer'),
    returns: Creation,
    problems: ['CONFLICT', 'CONFIG'],
    summary: 'Begin a passkey of your own; sets a cookie, and returns what the browser is asked for',
  }),
  addPasskey: endpoint({
    method: 'POST',
    audit: 'account.passkey-added',
    path: `${base}/passkeys`,
    auth: adminReauthenticated('viewer'),
    body: z.strictObject({ name: PasskeyName, credential: Attestation }),
    bodyLimit,
    status: 201,
    returns: Passkey,
    problems: ['LOGIN_FAILED', 'CONFLICT', 'ALREADY_EXISTS', 'CONFIG'],
    summary: 'Add the passkey that the browser made; it logs in without password and one-time code',
  }),
  removePasskey: endpoint({
    method: 'DELETE',
    audit: 'account.passkey-removed',
    path: `${base}/passkeys/:id`,
    auth: adminPerson('viewer'),
    params: z.object({ id: PasskeyId }),
    returns: empty,
    summary: 'Remove a passkey; those of others need the role admin',
  }),
  beginPasskeyLogin: endpoint({
    method: 'POST',
    audit: { none: 'the login itself is recorded when the browser has answered' },
    path: `${base}/console/passkeys/begin`,
    auth: open,
    perAddress: 5,
    returns: Request,
    problems: ['FORBIDDEN', 'CONFIG'],
    summary: 'Begin a login by passkey; sets a cookie, and returns what the browser is asked for',
  }),
  openConsoleByPasskey: endpoint({
    method: 'POST',
    audit: ['session.opened', 'account.passkey-refused'],
    path: `${base}/console/passkeys/login`,
    auth: open,
    perAddress: 5,
    body: z.strictObject({ credential: Assertion }),
    bodyLimit,
    returns: z.object({
      expiresAt: Timestamp,
      account: z.object({ id: AccountId, name: z.string(), role: AdminRoleName }),
      setup: z.array(SetupStep),
    }),
    problems: ['LOGIN_FAILED', 'ACCOUNT_LOCKED', 'FORBIDDEN', 'CONFIG'],
    summary: 'Log in to the web console by a passkey, in place of password and one-time code; sets a cookie',
  }),
} as const satisfies Contract
