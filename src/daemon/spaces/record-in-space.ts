import { type Audience, idsOf, type PayloadOf, type TenantEventType } from '../../core/events/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import type { SpaceRecord } from './spaces.repo.ts'

type Happened<Type extends TenantEventType> = Readonly<{
  space: Pick<SpaceRecord, 'id' | 'tenantId'>
  type: Type
  payload: PayloadOf<Type>
  /** The user who did it; null: the platform. */
  actorId: string | null
  audience?: Audience
}>

/** Stores what happened in a space, for the event stream and for the space's own activity; its members are told unless others are named. */
export async function recordInSpace<Type extends TenantEventType>(
  tx: Tx,
  clock: Clock,
  { space, type, payload, actorId, audience = { spaces: [space.id] } }: Happened<Type>,
): Promise<void> {
  const seq = await recordEvent(tx, clock, { tenantId: space.tenantId, type, payload, audience })
  const ids = JSON.stringify(idsOf(type, payload))
  const row = { space_id: space.id, tenant_id: space.tenantId, seq, type, actor_id: actorId, ids, at: isoNow(clock) }
  await tx.insertInto('space_activity').values(row).execute()
}

/** Whoever may find a space hears of it. */
export const whoFinds = ({ id, visibility }: Pick<SpaceRecord, 'id' | 'visibility'>): Audience =>
  visibility === 'PRIVATE' ? { spaces: [id] } : 'tenant'
