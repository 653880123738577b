import type { Express, Response } from 'express'

/** Rate limits of calls. Without them nothing is limited. */
export type CallLimits = Readonly<{
  /** Adds the per-address limits. Call it before routes are registered. */
  addresses(app: Express): void
  /**
   * Counts an authenticated call against its tenant's budget, before its body is read, and delays it if needed. Returns false if the client
   * disconnected. Throws RATE_LIMITED.
   */
  pass(response: Response, tenantId: string): Promise<boolean>
  /** Sets the rate limit headers on a response that does not count. */
  show(response: Response, tenantId: string): Promise<void>
}>

/** Path prefixes for users of tenants and anonymous clients. Operators and agents use other paths. */
export const clientPaths = ['/api/auth', '/api/platform', '/api/public', '/platform'] as const
