import { isProblem, plural } from '../../core/kit/index.ts'
import { type Cron, defineCron } from '../feature/index.ts'
import { alignSpace } from './align-space.ts'
import type { SpacesDeps } from './deps.ts'

/** Tenants that are asked at the same time. */
const tenantsAtOnce = 8
const pageSize = 500

export const spacesJobs = (deps: SpacesDeps): Cron[] => [
  defineCron({
    key: 'space-reconcile',
    expression: '20 2 * * *',
    description: 'Makes the rooms of all spaces as the platform has them, and takes over who has left in the chat',
    run: ({ signal }) => reconcileSpaces(deps, signal),
  }),
]

type Tally = { aligned: number; failed: number; unreached: Set<string> }

/** Goes through all spaces, tenant by tenant; one whose chat server does not answer is left for the next night. */
async function reconcileSpaces(deps: SpacesDeps, signal: AbortSignal): Promise<string> {
  const tally: Tally = { aligned: 0, failed: 0, unreached: new Set() }
  const tenants = await tenantsWithSpaces(deps)
  const turn = async () => {
    for (let tenantId = tenants.shift(); tenantId && !signal.aborted; tenantId = tenants.shift())
      await reconcileTenant(deps, { tenantId, tally, signal })
  }
  await Promise.all(Array.from({ length: tenantsAtOnce }, turn))
  const failed = tally.failed === 0 ? '' : `, ${tally.failed} failed`
  return `looked after ${plural(tally.aligned, 'space')}${failed}; ${plural(tally.unreached.size, 'chat server')} not reached`
}

/** Whose box is live: others have no chat server. */
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

type OfTenant = Readonly<{ tenantId: string; tally: Tally; signal: AbortSignal }>

async function reconcileTenant(deps: SpacesDeps, { tenantId, tally, signal }: OfTenant): Promise<void> {
  for (let after = ''; !signal.aborted; ) {
    const page = await spacesToLookAfter(deps, tenantId, after)
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
    await alignSpace(deps, id)
    tally.aligned += 1
  } catch (err) {
    if (isProblem(err, 'HOMESERVER_UNREACHABLE')) tally.unreached.add(tenantId)
    else tally.failed += 1
    deps.log.warn({ err, spaceId: id }, 'a space was not brought to the chat')
  }
}

/** Those that stand, and those that are deleted but were not taken out of the chat. */
async function spacesToLookAfter({ db }: SpacesDeps, tenantId: string, after: string): Promise<string[]> {
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
