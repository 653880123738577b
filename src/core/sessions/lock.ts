import { canonicalLocalpart } from '../users/index.ts'

// Ten failures, none more than 15 minutes after the one before, lock for a fixed 15 minutes, as for admin accounts (spec 8).
export { failureMemoryMs, knownNetworkMs, maxFailures, networkOf } from '../admin/index.ts'

/** An attempt whose end nobody noted after this long died with its process: it counts as failed. Calls to chat servers end long before. */
export const pendingMs = 60_000

/**
 * What failures are counted by: a tenant and the one spelling of a name, whether either exists or not. A tenant that nobody knows goes by what
 * was typed.
 */
export const lockSubject = (tenant: Readonly<{ id: string }> | undefined, given: string, username: string): string =>
  JSON.stringify([tenant ? 'id' : 'unknown', tenant?.id ?? given.trim().toLowerCase(), canonicalLocalpart(username)])
