import type { Express, Response } from 'express'

/** What calls must pass beside identity, and what answers say of it. Where it is absent nothing is limited. */
export type CallLimits = Readonly<{
  /** Sets what an address must pass before all that is mounted after it. */
  addresses(app: Express): void
  /**
   * A call that counts against its tenant's budget: of a user's, or of an automation for it, once it is known whose call it is and before a byte of its
   * body is read. False when its client left meanwhile; throws RATE_LIMITED.
   */
  pass(response: Response, tenantId: string): Promise<boolean>
  /** Says what a tenant has left on an answer that does not count. */
  show(response: Response, tenantId: string): Promise<void>
}>
