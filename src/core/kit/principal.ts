import type { Branded } from './ids.ts'

export type TenantId = Branded<'TenantId'>
export type UserId = Branded<'UserId'>

/** A right of a tenant's user beyond those of every user. Roles grant it. */
export const capabilities = [
  'manageModules',
  'manageMarketplace',
  'manageSpaces',
  'manageBoards',
  'manageRuns',
  'manageUsers',
  'manageBilling',
  'readAudit',
  'readContacts',
  'reviewStore',
] as const
export type Capability = (typeof capabilities)[number]

/** An automation tool, by its key, in the tenant that the call names. `keyId`: null where the settings require no key. */
export type AutomationActor = Readonly<{
  kind: 'automation'
  keyId: string | null
  name: string
  tenantId: TenantId
  tenantSlug: string
  chatDomain: string
}>

/**
 * The caller behind a verified platform token. The token names user and session only; tenant, roles and capabilities come from the record, so a change
 * of them counts within a second.
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

/** A user as the developer of modules that the header `X-Developer-Id` names. */
export type DeveloperActor = PlatformPrincipal & Readonly<{ developerId: string }>
