import type { Express, Request, RequestHandler, Response } from 'express'

/** Rate limits of calls. Without them nothing is limited. */
export type CallLimits = Readonly<{
  /** Adds the per-address limits. Call it before routes are registered. */
  addresses(app: Express): void
  /** The limit per address of anonymous endpoints outside `clientPaths`. */
  anonymous: RequestHandler
  /** The limit of all callers together of endpoints that need no login. */
  share: RequestHandler
  /**
   * Paces refusals of callers that are not identified, because these cost as much as an answer. Returns false if the connection is to be closed instead:
   * the client disconnected, or too many refusals wait.
   */
  paceRefusal(request: Request, response: Response): Promise<boolean>
  /**
   * Counts an authenticated call against its tenant's budget, before its body is read, and delays it if needed. Returns false if the client
   * disconnected. Throws RATE_LIMITED.
   */
  pass(response: Response, caller: Readonly<{ tenantId: string; userId?: string }>): Promise<boolean>
  /** Sets the rate limit headers on a response that does not count. */
  show(response: Response, tenantId: string): Promise<void>
}>

/** Path prefixes for users of tenants and anonymous clients. Operators and agents use other paths. */
export const clientPaths = ['/api/auth', '/api/platform', '/api/public', '/api/vendor', '/platform'] as const
