import type { TenantId } from '../boxes/index.ts'
import type { Capability, UserId } from '../users/index.ts'

/**
 * Who calls with a verified platform token. The token says which user and session; tenant, roles and capabilities are read from the record,
 * so they are those of this second, not those of the login.
 */
export type PlatformPrincipal = Readonly<{
  kind: 'user'
  /** Row of the registry. */
  userId: UserId
  /** `@local:chat_domain`; the claim `sub`. */
  matrixUserId: string
  tenantId: TenantId
  tenantSlug: string
  /** The claim `fam`. */
  sessionId: string
  roles: readonly string[]
  capabilities: readonly Capability[]
}>
