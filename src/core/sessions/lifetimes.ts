/** A platform token lives for a day (spec 2.1), or until its session ends if that is sooner. */
export const tokenMs = 24 * 60 * 60_000

const dayMs = 24 * 60 * 60_000

/**
 * How long a session can be kept alive at all, how long it may lie unused, how long a used refresh token is taken once more, and how many
 * a user may have.
 */
export type SessionRules = Readonly<{ absoluteDays: number; idleDays: number; graceSeconds: number; mostPerUser: number }>

/** When a new session ends whatever happens: without a refresh token, with its only platform token. */
export const sessionEnd = (rules: SessionRules, now: string, refreshable: boolean): string =>
  later(now, refreshable ? rules.absoluteDays * dayMs : tokenMs)

/** When a refresh token made now ends: the idle time, but never after its session. */
export const refreshEnd = (rules: SessionRules, now: string, sessionExpiresAt: string): string =>
  earlier(later(now, rules.idleDays * dayMs), sessionExpiresAt)

/** The lifetime of a platform token made now, in whole seconds. */
export const tokenLifetimeMs = (now: string, sessionExpiresAt: string): number =>
  Math.floor(Math.min(tokenMs, Date.parse(sessionExpiresAt) - Date.parse(now)) / 1000) * 1000

const later = (iso: string, ms: number): string => new Date(Date.parse(iso) + ms).toISOString()
const earlier = (one: string, other: string): string => (one < other ? one : other)
