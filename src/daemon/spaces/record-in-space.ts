import { type Audience, idsOf, type PayloadOf, type TenantEventType } from '../../core/events/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { inBatches, type Tx } from '../db/index.ts'
import { recordEvents } from '../events/index.ts'
import type { SpaceRecord } from './spaces.repo.ts'

type OfSpace = Readonly<{
  space: Pick<SpaceRecord, 'id' | 'tenantId'>
  /** The user who did it; null: the platform. */
  actorId: string | null
}>

type Happened<Type extends TenantEventType> = Readonly<{ type: Type; payload: PayloadOf<Type>; audience?: Audience }>

/** Stores what happened in a space, for the event stream and for the space's own activity; its members are told unless others are named. */
export const recordInSpace = <Type extends TenantEventType>(
  tx: Tx,
  clock: Clock,
  { space, actorId, ...happened }: OfSpace & Happened<Type>,
): Promise<void> => recordAllInSpace<Type>(tx, clock, { space, actorId, all: [happened] })

/** The same for several, which are not none, in their order. */
export async function recordAllInSpace<Type extends TenantEventType>(
  tx: Tx,
  clock: Clock,
  { space, actorId, all }: OfSpace & Readonly<{ all: readonly Happened<Type>[] }>,
): Promise<void> {
  const { id, tenantId } = space
  const events = all.map(({ audience = { spaces: [id] }, ...told }) => ({ ...told, audience }))
  const first = (await recordEvents<Type>(tx, clock, { tenantId, events })) - all.length + 1
  const shared = { space_id: id, tenant_id: tenantId, actor_id: actorId, at: isoNow(clock) }
  const rows = all.map(({ type, payload }, n) => ({ ...shared, seq: first + n, type, ids: JSON.stringify(idsOf(type, payload)) }))
  for (const batch of inBatches(rows)) await tx.insertInto('space_activity').values(batch).execute()
}

/** Whoever may find a space hears of it. */
export const whoFinds = ({ id, visibility }: Pick<SpaceRecord, 'id' | 'visibility'>): Audience =>
  visibility === 'PRIVATE' ? { spaces: [id] } : 'tenant'
