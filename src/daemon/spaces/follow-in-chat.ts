import { z } from 'zod'
import { chatQueue } from '../../core/jobs/index.ts'
import { type Clock, isProblem, type TenantId } from '../../core/kit/index.ts'
import type { SpaceId } from '../../core/spaces/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { alignSpace } from './align-space.ts'
import type { SpacesDeps } from './deps.ts'
import { type SpaceRecord, spaceRecord } from './spaces.repo.ts'

const spaceTopic = 'chat.space'
const tenantTopic = 'chat.spaces-of-tenant'

const OfSpace = z.object({ spaceId: z.string() })
const OfTenant = z.object({ tenantId: z.string().transform((id) => id as TenantId) })

/** Notes in the transaction of a change that the chat has to follow it. */
export const followInChat = (tx: Tx, clock: Clock, { id, tenantId }: Pick<SpaceRecord, 'id' | 'tenantId'>): Promise<void> =>
  enqueueJob(tx, clock, { topic: spaceTopic, payload: { spaceId: id }, ...chatQueue({ tenantId, what: 'spaces', key: id }) })

/** Notes that a tenant's chat may have gone back in time, or knows members by now whom it did not know. */
export const followWholeTenant = (tx: Tx, clock: Clock, tenantId: string): Promise<void> =>
  enqueueJob(tx, clock, { topic: tenantTopic, payload: { tenantId } })

/** Tells the chat at once what was just noted, for an answer that wants to show it, and waits no longer than `waitMs`. What fails stays noted. */
export async function soonInChat(deps: SpacesDeps, spaceId: string, waitMs: number): Promise<void> {
  const enough = new AbortController()
  const told = alignSpace(deps, spaceId)
    .catch((err) => deps.log.info({ err, spaceId }, 'the chat is told of a space later'))
    .finally(() => enough.abort())
  await Promise.race([told, deps.clock.sleep(waitMs, enough.signal)])
}

/**
 * A server that is away costs no try, so it is asked for as long as it takes. A space that others are at, or that is large, goes on in a piece of
 * work of its own, after those that wait meanwhile.
 */
export const spacesWork = (deps: SpacesDeps): Readonly<Record<string, JobHandler>> => ({
  [spaceTopic]: async (payload, { last, signal }) => {
    const { spaceId } = OfSpace.parse(payload)
    try {
      if ((await alignSpace(deps, spaceId, { mayWait: true, signal })) === 'unfinished') await again(deps, spaceId)
    } catch (error) {
      if (!last || !isPassing(error)) throw error
      await again(deps, spaceId)
    }
  },
  [tenantTopic]: (payload) => followAll(deps, OfTenant.parse(payload).tenantId),
})

const isPassing = (error: unknown): boolean => (['UNAVAILABLE', 'LEASE_LOST'] as const).some((code) => isProblem(error, code))

const again = ({ db, clock }: SpacesDeps, spaceId: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const space = await spaceRecord(tx, spaceId)
    if (space) await followInChat(tx, clock, space)
  })

/** Deleted spaces too: a restore brings their rooms back. */
const followAll = ({ db, clock }: SpacesDeps, tenantId: TenantId): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const spaces = await tx.selectFrom('spaces').select('id').where('tenant_id', '=', tenantId).execute()
    for (const { id } of spaces) await followInChat(tx, clock, { id: id as SpaceId, tenantId })
  })
