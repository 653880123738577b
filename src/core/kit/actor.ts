import type { AutomationActor } from './principal.ts'

/** The author of a state change or audit entry. Roles come from the database, never from a token. */
export type AdminActor = Readonly<{
  kind: 'admin'
  accountId: string
  name: string
  role: 'viewer' | 'reviewer' | 'operator' | 'admin'
  sessionId: string
}>
export type TokenActor = Readonly<{
  kind: 'token'
  tokenId: string
  accountId: string
  name: string
  role: 'viewer' | 'reviewer' | 'operator'
}>
export type AgentActor = Readonly<{ kind: 'agent'; hostId: string; name: string; instanceId: string }>
/** A job, the engine, or a command typed on the daemon's own machine. */
export type SystemActor = Readonly<{ kind: 'system'; name: string }>

/** A vendor of the marketplace, by its session, which proved the address `email`. The name is that of the session: the audit log names no address. */
export type VendorActor = Readonly<{ kind: 'vendor'; sessionId: string; name: string; email: string }>

/** A user of a tenant, as far as a record of what happened needs to know. */
type UserActor = Readonly<{ kind: 'user'; userId: string; matrixUserId: string; sessionId: string }>

export type Actor = AdminActor | TokenActor | AgentActor | SystemActor | UserActor | AutomationActor | VendorActor

/** As the audit log writes it: `admin:anna`, `token:ci`, `agent:host-1`, `system:cron`, `automation:n8n`, `vendor:vss_…`, `user:@anna:school.example`. */
export const actorLabel = (actor: Actor): string => `${actor.kind}:${actor.kind === 'user' ? actor.matrixUserId : actor.name}`
