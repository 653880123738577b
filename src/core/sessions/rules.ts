import { printable } from '../kit/index.ts'
import { canonicalLocalpart } from '../users/index.ts'

// Ten failures, each within 15 minutes of the one before, lock for a fixed 15 minutes: the same rule as for admin accounts (spec 8).
export { failureMemoryMs, knownNetworkMs, maxFailures, networkOf } from '../admin/index.ts'

/** Lifetime of a platform token: a day (spec 2.1), or the rest of its session if that is shorter. */
export const tokenMs = 24 * 60 * 60_000

const dayMs = 24 * 60 * 60_000

/**
 * `absoluteDays`: maximum lifetime of a session. `idleDays`: maximum time without use. `graceSeconds`: how long a used refresh token gives
 * its successor again. `mostPerUser`: maximum number of open sessions.
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

/** Slower refusals do not delay others, so a hanging chat server does not. */
const maxFloorMs = 3000

/** After a slow refusal all refusals are as slow for this long. */
const slowMemoryMs = 60 * 60_000

/** The last refusal that was slower than a second, at `atMs` of the monotonic clock. */
export type SlowRefusal = Readonly<{ floorMs: number; atMs: number }>

/**
 * How long to delay a refusal: until one second after the request arrived, the next full second, or the time of the slowest refusal within the
 * last hour, up to three seconds. Response time then reveals neither the reason nor, by a slow chat server, that the tenant exists.
 */
export function delayRefusal(
  elapsedMs: number,
  nowMs: number,
  slow?: SlowRefusal,
): Readonly<{ delayMs: number; slow: SlowRefusal | undefined }> {
  const known = slow && nowMs - slow.atMs < slowMemoryMs ? slow : undefined
  const ownMs = Math.max(1, Math.ceil(elapsedMs / refusalStepMs)) * refusalStepMs
  const endMs = Math.max(ownMs, known?.floorMs ?? 0)
  const floorMs = Math.min(ownMs, maxFloorMs)
  const isSlow = floorMs > refusalStepMs && floorMs >= (known?.floorMs ?? 0)
  return { delayMs: endMs - elapsedMs, slow: isSlow ? { floorMs, atMs: nowMs } : known }
}

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
