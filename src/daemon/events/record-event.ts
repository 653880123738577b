import type { Audience, ModuleEventPayload, ModuleEventType, PayloadOf, TenantEventType } from '../../core/events/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { appendEvent, appendEvents, type Db, type Tx, type Write, writeWithEvents } from '../db/index.ts'

/** A tenant's events are one stream. */
export const streamOf = (tenantId: string): string => `tenant:${tenantId}`

type Happened<Type extends TenantEventType> = Readonly<{
  tenantId: string
  /** `core`, or the id of a module (spec 6). */
  source?: string
  type: Type
  payload: PayloadOf<Type>
  /** Users who may read the changed resource. */
  audience: Audience
}>

/**
 * Stores an event of a tenant in the transaction of the change; it is published after the commit. It locks the tenant's event counter: call it
 * late in the transaction, before the audit entry.
 */
export const recordEvent = <Type extends TenantEventType>(
  tx: Tx,
  clock: Clock,
  { tenantId, source = 'core', type, payload, audience }: Happened<Type>,
): Promise<number> => appendEvent(tx, clock, { stream: streamOf(tenantId), source, eventType: type, payload, tenantId, audience })

/** Tenants per transaction: their own events wait for its end. A commit for each would cost more than all of their rows. */
const tenantsPerCommit = 50

/** Events of different tenants, by the id of the tenant; none is at or before `after`. */
type EventsAfter<Type extends TenantEventType> = (after: string, limit: number) => Promise<readonly Happened<Type>[]>

/** Stores one event for each of many tenants. A job that is repeated after a crash stores some of them twice. */
export async function recordForTenants<Type extends TenantEventType>(
  { db, clock }: Readonly<{ db: Db; clock: Clock }>,
  eventsAfter: EventsAfter<Type>,
  signal: AbortSignal | undefined,
): Promise<void> {
  let page: readonly Happened<Type>[] = []
  do {
    signal?.throwIfAborted()
    page = await eventsAfter(page.at(-1)?.tenantId ?? '', tenantsPerCommit)
    await db.transaction().execute(async (tx) => {
      for (const event of page) await recordEvent(tx, clock, event)
    })
  } while (page.length === tenantsPerCommit)
}

type Recorded<Type extends TenantEventType> = Readonly<{
  tenantId: string
  events: readonly Omit<Happened<Type>, 'tenantId' | 'source'>[]
  writes?: readonly Write[]
}>

/** Stores one or more events of a tenant in order, with the writes that led to them; returns the number of the last. */
export const recordEvents = <Type extends TenantEventType>(
  tx: Tx,
  clock: Clock,
  { tenantId, events, writes = [] }: Recorded<Type>,
): Promise<number> => {
  const shared = { source: 'core', tenantId, createdAt: isoNow(clock) }
  const rows = events.map(({ type, payload, audience }) => ({ ...shared, eventType: type, payload, audience }))
  return writeWithEvents(tx, writes, { stream: streamOf(tenantId), events: rows })
}

type OfModule = Readonly<{ type: ModuleEventType; payload: ModuleEventPayload; audience: Audience | null }>

/** Stores one or more events that a module published, in order. Users receive those with an audience. */
export const recordModuleEvents = (
  tx: Tx,
  clock: Clock,
  { tenantId, moduleId, events }: Readonly<{ tenantId: string; moduleId: string; events: readonly OfModule[] }>,
): Promise<number> => {
  const shared = { source: moduleId, tenantId, createdAt: isoNow(clock) }
  const rows = events.map(({ type, payload, audience }) => ({ ...shared, eventType: type, payload, audience }))
  return appendEvents(tx, streamOf(tenantId), rows)
}

/** Stores an internal event of a tenant in order; it is not published to clients. Call it late in the transaction too. */
export const recordInternalEvent = (
  tx: Tx,
  clock: Clock,
  { tenantId, type, payload = {} }: Readonly<{ tenantId: string; type: 'tenant.changed'; payload?: PayloadOf<'tenant.changed'> }>,
): Promise<number> => appendEvent(tx, clock, { stream: streamOf(tenantId), source: 'core', eventType: type, payload, tenantId })
