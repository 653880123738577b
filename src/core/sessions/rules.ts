import { printable } from '../kit/index.ts'
import { canonicalLocalpart } from '../users/index.ts'

// Ten failures, each within 15 minutes of the one before, lock for a fixed 15 minutes: the same rule as for admin accounts (spec 8).
export { failureMemoryMs, knownNetworkMs, maxFailures, networkOf } from '../admin/index.ts'

/** Lifetime of a platform token: a day (spec 2.1), or the rest of its session if that is shorter. */
export const tokenMs = 24 * 60 * 60_000

const dayMs = 24 * 60 * 60_000

/**
 * `absoluteDays`: maximum lifetime of a session. `idleDays`: maximum time without use. `graceSeconds`: how long a used refresh token is accepted
 * again. `mostPerUser`: maximum number of open sessions.
 */
export type SessionRules = Readonly<{ absoluteDays: number; idleDays: number; graceSeconds: number; mostPerUser: number }>

/** Time between the start of a session and the issue of its first token, so that the token has its full lifetime. */
const issueMs = 60_000

/** The fixed end of a new session. Without a refresh token it ends with its only platform token, or within a minute after it. */
export const sessionEnd = (rules: SessionRules, now: string, refreshable: boolean): string =>
  later(now, refreshable ? rules.absoluteDays * dayMs : tokenMs + issueMs)

/** The end of a refresh token issued now: the idle time, but never after its session. */
export const refreshEnd = (rules: SessionRules, now: string, sessionExpiresAt: string): string =>
  earlier(later(now, rules.idleDays * dayMs), sessionExpiresAt)

/** The lifetime of a platform token issued now, in milliseconds, rounded down to whole seconds. */
export const tokenLifetimeMs = (now: string, sessionExpiresAt: string): number =>
  Math.floor(Math.min(tokenMs, Date.parse(sessionExpiresAt) - Date.parse(now)) / 1000) * 1000

const later = (iso: string, ms: number): string => new Date(Date.parse(iso) + ms).toISOString()
const earlier = (one: string, other: string): string => (one < other ? one : other)

/** An attempt that was not ended after this time died with its process and counts as failed. Calls to chat servers time out long before. */
export const maxPendingMs = 60_000

/**
 * The key by which failed logins are counted: tenant and canonical name, whether either exists or not. An unknown tenant is counted by the
 * text that was entered.
 */
export const lockSubject = (tenant: Readonly<{ id: string }> | undefined, entered: string, username: string): string =>
  JSON.stringify([tenant ? 'id' : 'unknown', tenant?.id ?? entered.trim().toLowerCase(), canonicalLocalpart(username)])

const refusalStepMs = 1000

/**
 * How long to delay a refusal so that it is sent one second after the request arrived, or at the next full second after that. Response time
 * then does not reveal the reason (SECURITY).
 */
export const refusalDelayMs = (elapsedMs: number): number => Math.max(1, Math.ceil(elapsedMs / refusalStepMs)) * refusalStepMs - elapsedMs

/** The limit of Synapse. */
const maxDeviceNameLength = 100

export const defaultDeviceName = 'Platform login'

/** The name of the device in the chat: the requested one, cut to the limit of the chat server, or the default. */
export function deviceNameOf(requested: string | undefined): string {
  const name = printable(requested ?? '')
    .replace(/\s+/g, ' ')
    .trim()
  return name === '' ? defaultDeviceName : Array.from(name).slice(0, maxDeviceNameLength).join('')
}

/** The syntactic form of a `Bearer` credential; nothing of it is verified. */
type CredentialForm = 'jwt' | 'matrix' | 'other'

/** Prefixes of chat tokens: `syt_`, `syr_`, `syl_` of Synapse, `mat_`, `mct_`, `mcr_` of its authentication service. */
const chatToken = /^(sy[trl]_|mat_|mct_|mcr_|MDAx)/

const jwt = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Tells a chat token that was sent as a platform token from other invalid credentials. */
export const credentialForm = (credential: string): CredentialForm =>
  jwt.test(credential) ? 'jwt' : chatToken.test(credential) ? 'matrix' : 'other'
