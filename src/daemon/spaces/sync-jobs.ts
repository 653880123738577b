import pLimit from 'p-limit'
import { z } from 'zod'
import { chatQueue } from '../../core/jobs/index.ts'
import { type Clock, isProblem, plural, type TenantId } from '../../core/kit/index.ts'
import type { SpaceId } from '../../core/spaces/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { type Cron, defineCron } from '../feature/index.ts'
import type { Command, CommandListener } from '../hosts/index.ts'
import type { SpacesDeps } from './deps.ts'
import { type SpaceRecord, spaceById } from './spaces.repo.ts'
import { syncSpace } from './sync-space.ts'

const spaceTopic = 'chat.space'
const tenantTopic = 'chat.spaces-of-tenant'

const OfSpace = z.object({ spaceId: z.string() })
const OfTenant = z.object({ tenantId: z.string().transform((id) => id as TenantId) })

/** Enqueues the sync of a space in the transaction of the change. */
export const enqueueSpaceSync = (tx: Tx, clock: Clock, { id, tenantId }: Pick<SpaceRecord, 'id' | 'tenantId'>): Promise<void> =>
  enqueueJob(tx, clock, { topic: spaceTopic, payload: { spaceId: id }, ...chatQueue({ tenantId, what: 'spaces', key: id }) })

/** Enqueues the sync of all spaces of a tenant, after a restore or after accounts were recreated. */
export const enqueueTenantSync = (tx: Tx, clock: Clock, tenantId: string): Promise<void> =>
  enqueueJob(tx, clock, { topic: tenantTopic, payload: { tenantId } })

/** Syncs a new space right away, for a response that shows the rooms, and waits up to `waitMs`. The enqueued job covers failures. */
export async function syncSoon(deps: SpacesDeps, spaceId: string, waitMs: number): Promise<void> {
  const enough = new AbortController()
  const synced = syncSpace(deps, spaceId)
    .catch((err) => deps.log.info({ err, spaceId }, 'a space is synced to the chat later'))
    .finally(() => enough.abort())
  await Promise.race([synced, deps.clock.sleep(waitMs, enough.signal)])
}

/**
 * An unreachable server uses up no attempt. A space that another process syncs, or that is not finished in one run, is enqueued again, behind the
 * other jobs of the tenant.
 */
export const spaceSyncJobs = (deps: SpacesDeps): Readonly<Record<string, JobHandler>> => ({
  [spaceTopic]: async (payload, { last, signal }) => {
    const { spaceId } = OfSpace.parse(payload)
    try {
      if ((await syncSpace(deps, spaceId, { mayWait: true, signal })) === 'unfinished') await enqueueAgain(deps, spaceId)
    } catch (error) {
      if (!last || !isTransient(error)) throw error
      await enqueueAgain(deps, spaceId)
    }
  },
  [tenantTopic]: (payload) => enqueueAll(deps, OfTenant.parse(payload).tenantId),
})

const isTransient = (error: unknown): boolean => (['UNAVAILABLE', 'LEASE_LOST'] as const).some((code) => isProblem(error, code))

const enqueueAgain = ({ db, clock }: SpacesDeps, spaceId: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const space = await spaceById(tx, spaceId)
    if (space) await enqueueSpaceSync(tx, clock, space)
  })

/** Includes deleted spaces: a restore brings their rooms back. */
const enqueueAll = ({ db, clock }: SpacesDeps, tenantId: TenantId): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const spaces = await tx.selectFrom('spaces').select('id').where('tenant_id', '=', tenantId).execute()
    for (const { id } of spaces) await enqueueSpaceSync(tx, clock, { id: id as SpaceId, tenantId })
  })

/** Maximum number of tenants in parallel. */
const maxParallelTenants = 8
const pageSize = 500

export const spacesJobs = (deps: SpacesDeps): Cron[] => [
  defineCron({
    key: 'space-reconcile',
    expression: '20 2 * * *',
    description: 'Sync the rooms of all spaces to the chat servers, and record members who left in the chat',
    run: ({ signal }) => reconcileSpaces(deps, signal),
  }),
]

type Tally = { synced: number; failed: number; unreached: Set<string> }

/** Syncs all spaces by tenant. A tenant whose chat server does not answer is skipped until the next night. */
async function reconcileSpaces(deps: SpacesDeps, signal: AbortSignal): Promise<string> {
  const tally: Tally = { synced: 0, failed: 0, unreached: new Set() }
  const tenants = await tenantsWithSpaces(deps)
  await pLimit(maxParallelTenants).map(tenants, async (tenantId) => {
    if (!signal.aborted) await reconcileTenant(deps, { tenantId, tally, signal })
  })
  const failed = tally.failed === 0 ? '' : `, ${tally.failed} failed`
  return `synced ${plural(tally.synced, 'space')}${failed}; ${plural(tally.unreached.size, 'chat server')} not reached`
}

/** Tenants without a live box have no chat server. */
async function tenantsWithSpaces({ db }: SpacesDeps): Promise<string[]> {
  const rows = await db
    .selectFrom('spaces')
    .innerJoin('boxes', 'boxes.tenant_id', 'spaces.tenant_id')
    .select('spaces.tenant_id')
    .distinct()
    .where('live', '=', 1)
    .execute()
  return rows.map(({ tenant_id }) => tenant_id)
}

type TenantRun = Readonly<{ tenantId: string; tally: Tally; signal: AbortSignal }>

async function reconcileTenant(deps: SpacesDeps, { tenantId, tally, signal }: TenantRun): Promise<void> {
  for (let after = ''; !signal.aborted; ) {
    const page = await spacesToSync(deps, tenantId, after)
    for (const id of page) {
      if (signal.aborted) return
      await reconcileSpace(deps, { id, tenantId, tally })
      if (tally.unreached.has(tenantId)) return
    }
    if (page.length < pageSize) return
    after = page.at(-1) ?? after
  }
}

async function reconcileSpace(deps: SpacesDeps, { id, tenantId, tally }: Readonly<{ id: string; tenantId: string; tally: Tally }>) {
  try {
    await syncSpace(deps, id)
    tally.synced += 1
  } catch (err) {
    if (isProblem(err, 'HOMESERVER_UNREACHABLE')) tally.unreached.add(tenantId)
    else tally.failed += 1
    deps.log.warn({ err, spaceId: id }, 'a space was not synced to the chat')
  }
}

/** Existing spaces, and deleted ones whose rooms are not deleted yet. */
async function spacesToSync({ db }: SpacesDeps, tenantId: string, after: string): Promise<string[]> {
  const rows = await db
    .selectFrom('spaces')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('id', '>', after)
    .where((eb) => eb.or([eb('deleted_at', 'is', null), eb('chat_revision', '!=', eb.ref('revision'))]))
    .orderBy('id')
    .limit(pageSize)
    .execute()
  return rows.map(({ id }) => id)
}

/** Enqueues the sync of all spaces whenever the data of a box was restored, or may have been. */
export function spaceResyncListener({ clock }: Readonly<{ clock: Clock }>): CommandListener {
  const follow = async (tx: Tx, { boxId }: Command): Promise<void> => {
    const box = await tx.selectFrom('boxes').select('tenant_id').where('id', '=', boxId).executeTakeFirst()
    if (box) await enqueueTenantSync(tx, clock, box.tenant_id)
  }
  return {
    resultHandlers: {
      'tenant-box.restore': (tx, command, { outcome }) => (outcome === 'failed' ? nothing() : follow(tx, command)),
      'tenant-box.update': (tx, command, { rolledBack }) => (rolledBack ? follow(tx, command) : nothing()),
      'tenant-box.take_over': (tx, command, { outcome }) => (outcome === 'restored' ? follow(tx, command) : nothing()),
    },
  }
}

const nothing = async (): Promise<void> => undefined
