import type { Audience, PayloadOf, TenantEventType } from '../../core/events/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { appendEvent, appendEvents, type Tx } from '../db/index.ts'

/** A tenant's events are one stream. */
export const streamOf = (tenantId: string): string => `tenant:${tenantId}`

type Happened<Type extends TenantEventType> = Readonly<{
  tenantId: string
  /** Who emits it: `core`, or the id of a module (spec 6). */
  source?: string
  type: Type
  payload: PayloadOf<Type>
  /** Who is told, by the rule of reading what it is about. */
  audience: Audience
}>

/**
 * Stores what happened in a tenant, in the transaction of the change; its audience hears of it once that commits. It holds the tenant's
 * counter until then: call it late in the transaction, before the audit entry.
 */
export const recordEvent = <Type extends TenantEventType>(
  tx: Tx,
  clock: Clock,
  { tenantId, source = 'core', type, payload, audience }: Happened<Type>,
): Promise<number> => appendEvent(tx, clock, { stream: streamOf(tenantId), source, eventType: type, payload, tenantId, audience })

/** The same for several of one tenant, which are not none, in their order; answers the number of the last. */
export const recordEvents = <Type extends TenantEventType>(
  tx: Tx,
  clock: Clock,
  { tenantId, events }: Readonly<{ tenantId: string; events: readonly Omit<Happened<Type>, 'tenantId' | 'source'>[] }>,
): Promise<number> => {
  const shared = { source: 'core', tenantId, createdAt: isoNow(clock) }
  const rows = events.map(({ type, payload, audience }) => ({ ...shared, eventType: type, payload, audience }))
  return appendEvents(tx, streamOf(tenantId), rows)
}

/** Stores what changed in a tenant for the platform's own readers, at its place among the others; nobody outside is told. Called as late. */
export const recordInternalEvent = (
  tx: Tx,
  clock: Clock,
  { tenantId, type, payload = {} }: Readonly<{ tenantId: string; type: 'tenant.changed'; payload?: PayloadOf<'tenant.changed'> }>,
): Promise<number> => appendEvent(tx, clock, { stream: streamOf(tenantId), source: 'core', eventType: type, payload, tenantId })
