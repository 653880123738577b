import { isProblem, plural, problem, type TenantId } from '../../core/kit/index.ts'
import { readStoreAddress } from '../../core/snapshots/index.ts'
import { acquireLease, type Db, releaseLease } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { forgetLostStore } from './lost-stores.ts'
import { leaseMs, watchForBusyBox } from './maintain-stores.ts'
import { assertSnapshotsConfigured, knownRepository, maintenanceRepository, reachesStore, repositoryAddress } from './snapshot-store.ts'

type OfTenant = Readonly<{ id: TenantId; slug: string }>
type Deps = SnapshotsDeps

/** Half of the limit of one command. */
const maxForgotten = 500
/** Enough for 10,000 snapshots. */
const maxRounds = 20

/**
 * Deletes all snapshots of a tenant and their data, where the store is a bucket. It can be repeated. Throws UNAVAILABLE while the repository is
 * being maintained, CONFIG without settings of the store, and the errors of the store.
 */
export async function eraseSnapshots(deps: Deps, tenant: OfTenant, signal?: AbortSignal): Promise<void> {
  await eraseStored(deps, tenant, signal)
  await deps.db.transaction().execute((tx) => forgetLostStore({ ...deps, tx }, tenant.id, `${tenant.slug} was deleted`))
}

async function eraseStored(deps: Deps, { id, slug }: OfTenant, signal?: AbortSignal): Promise<void> {
  if (!(await mayHaveRepository(deps.db, id))) return
  // Without settings its place is unknown.
  if (!(await knownRepository(deps.db, id)).mayCreate) assertSnapshotsConfigured(deps.settings)
  if (!reachesStore(deps.settings)) return
  const known = await idsOf(deps.db, id)
  const lease = await acquireLease(deps, { name: `snapshots:${id}`, owner: deps.owner, ttlMs: leaseMs })
  if (!lease) throw problem('UNAVAILABLE', `The snapshots of ${slug} are being maintained; their deletion is retried`)
  const watch = watchForBusyBox(deps, lease, signal ?? new AbortController().signal)
  try {
    await forgetAll(deps, { tenant: { id, slug }, known }, watch.signal)
  } catch (error) {
    // Abandoned with a repository that is gone: nothing of it is left to delete. It may have come back since.
    if (!isProblem(error, 'SNAPSHOT_STORE_LOST') || !(await knownRepository(deps.db, id)).mayCreate) throw error
  } finally {
    await watch.end()
    await releaseLease(deps, lease)
  }
}

/** Also forgets what only the repository lists. The rows stay: without them an interrupted deletion would not find the repository again. */
async function forgetAll(
  deps: Deps,
  { tenant: { id, slug }, known }: Readonly<{ tenant: OfTenant; known: readonly string[] }>,
  signal: AbortSignal,
): Promise<void> {
  // Another repository in its place is none of which the snapshots are erased.
  const { repositoryId } = await knownRepository(deps.db, id)
  const repository = { ...maintenanceRepository(deps.settings, id), repositoryId }
  let ids = known
  for (let round = 0; round < maxRounds; round++) {
    const forget = ids.slice(0, maxForgotten)
    const { present, archive = [] } = await deps.maintain(repository, { forget, prune: ids.length <= maxForgotten, check: 'none' }, signal)
    ids = [...present, ...archive].map(({ snapshotId }) => snapshotId)
    if (ids.length === 0) return
  }
  throw problem('SNAPSHOT_FAILED', `${plural(ids.length, 'snapshot')} of ${slug} could not be deleted; the deletion is retried`)
}

/** Rows of snapshots end before their data if a repository was lost, so the row of the repository counts too. */
async function mayHaveRepository(db: Db, tenantId: string): Promise<boolean> {
  const row = db.selectFrom('snapshot_repositories').select('tenant_id').where('tenant_id', '=', tenantId)
  return (await row.executeTakeFirst()) !== undefined || (await idsOf(db, tenantId)).length > 0
}

async function idsOf(db: Db, tenantId: string): Promise<readonly string[]> {
  const of = <Table extends 'snapshots' | 'snapshot_warm_copies' | 'archive_parts'>(table: Table) =>
    db
      .selectFrom(table as 'snapshots')
      .select('snapshot_id')
      .where('tenant_id', '=', tenantId)
      .execute()
  const rows = [...(await of('snapshots')), ...(await of('snapshot_warm_copies')), ...(await of('archive_parts'))]
  return rows.map(({ snapshot_id }) => snapshot_id).filter((one) => one.length === 64)
}

/** The folder of a tenant's repository, where only its hosts reach it. */
export async function snapshotsOnHosts({ db, settings }: Pick<Deps, 'db' | 'settings'>, { id }: OfTenant): Promise<readonly string[]> {
  const store = readStoreAddress(settings.snapshotStore ?? '')
  if (typeof store === 'string' || store.kind === 's3' || !(await mayHaveRepository(db, id))) return []
  const count = (await idsOf(db, id)).length
  return [
    `${count === 0 ? 'A snapshot repository' : plural(count, 'snapshot')} on the hosts that had the box. fix: delete ${repositoryAddress(store, id)} on each of them`,
  ]
}
