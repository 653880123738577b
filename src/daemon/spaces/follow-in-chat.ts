import { z } from 'zod'
import { type Clock, isProblem } from '../../core/kit/index.ts'
import { enqueueOutbox, type OutboxHandler, type Tx } from '../db/index.ts'
import { alignSpace } from './align-space.ts'
import type { SpacesNeeds } from './needs.ts'

const spaceTopic = 'chat.space'
const tenantTopic = 'chat.spaces-of-tenant'

const OfSpace = z.object({ spaceId: z.string() })
const OfTenant = z.object({ tenantId: z.string() })

/** Notes in the transaction of a change that the chat has to follow it. */
export const followInChat = (tx: Tx, clock: Clock, spaceId: string): Promise<void> =>
  enqueueOutbox(tx, clock, { topic: spaceTopic, payload: { spaceId } })

/** Notes that a tenant's chat may have gone back in time. */
export const followWholeTenant = (tx: Tx, clock: Clock, tenantId: string): Promise<void> =>
  enqueueOutbox(tx, clock, { topic: tenantTopic, payload: { tenantId } })

/** Tells the chat at once what was just noted, for an answer that wants to show it, and waits no longer than `waitMs`. What fails stays noted. */
export async function soonInChat(needs: SpacesNeeds, spaceId: string, waitMs: number): Promise<void> {
  const enough = new AbortController()
  const told = alignSpace(needs, spaceId)
    .catch((err) => needs.log.info({ err, spaceId }, 'the chat is told of a space later'))
    .finally(() => enough.abort())
  await Promise.race([told, needs.clock.sleep(waitMs, enough.signal)])
}

/** A server that is away is asked for as long as it takes: the try after the last is a new one. */
export const spacesWork = (needs: SpacesNeeds): Readonly<Record<string, OutboxHandler>> => ({
  [spaceTopic]: async (payload, { last }) => {
    const { spaceId } = OfSpace.parse(payload)
    const again = () => needs.db.transaction().execute((tx) => followInChat(tx, needs.clock, spaceId))
    try {
      if ((await alignSpace(needs, spaceId)) === 'unfinished') await again()
    } catch (error) {
      if (!last || !isPassing(error)) throw error
      await again()
    }
  },
  [tenantTopic]: (payload) => followAll(needs, OfTenant.parse(payload).tenantId),
})

const isPassing = (error: unknown): boolean =>
  (['HOMESERVER_UNREACHABLE', 'UNAVAILABLE', 'LEASE_LOST'] as const).some((code) => isProblem(error, code))

/** Deleted spaces too: a restore brings their rooms back. */
const followAll = ({ db, clock }: SpacesNeeds, tenantId: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const spaces = await tx.selectFrom('spaces').select('id').where('tenant_id', '=', tenantId).execute()
    for (const { id } of spaces) await followInChat(tx, clock, id)
  })
