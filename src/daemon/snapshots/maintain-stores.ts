import { isoNow, isProblem, type TenantId } from '../../core/kit/index.ts'
import type { SnapshotTask } from '../../core/snapshots/index.ts'
import { acquireLease, appendEvent, holdLease, type Lease, releaseLease, renewLease } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { isFreeNow, liveBoxOf } from './free-boxes.ts'
import { bucket, isLost, recordStoreLost } from './lost-stores.ts'
import { alertUnreadable, type MaintenanceTask, planMaintenance, recordMaintenance } from './maintain-repository.ts'
import { knownRepository, maintenanceRepository, reachesStore } from './snapshot-store.ts'
import { isWaiting, type QueuedTask, removeTask, waitingTasks } from './snapshot-tasks.ts'
import { lockRepository, type SnapshotOwner } from './snapshots.repo.ts'

const tasks: readonly SnapshotTask[] = ['thin', 'prune', 'check', 'check-data']
export const leaseMs = 60_000
const checkEveryMs = 10_000

/**
 * Maintains repositories in a bucket, with a credential that agents lack: one pass over the queued tasks. Takes one lease per repository, and aborts
 * when other work on its box begins; the task then stays queued.
 */
export async function maintainStores(deps: SnapshotsDeps, signal: AbortSignal): Promise<void> {
  if (!reachesStore(deps.settings)) return
  const queued = await waitingTasks(deps, tasks)
  for (const task of queued.sort(inOrder)) {
    if (signal.aborted) return
    if (await isBoxBusy(deps, task.tenant_id)) continue
    const lease = await acquireLease(deps, { name: `snapshots:${task.tenant_id}`, owner: deps.owner, ttlMs: leaseMs })
    if (!lease) continue
    await maintainStore(deps, { lease, queued: task }, signal).finally(() => releaseLease(deps, lease))
  }
}

const inOrder = (a: QueuedTask, b: QueuedTask) => tasks.indexOf(a.task) - tasks.indexOf(b.task) || (a.asked_at < b.asked_at ? -1 : 1)

/** The tenant's box has a hold or an open command. A repository without a box is never busy. */
async function isBoxBusy(deps: SnapshotsDeps, tenantId: string): Promise<boolean> {
  const box = await liveBoxOf(deps.db, tenantId)
  return box !== undefined && !(await isFreeNow(deps, deps.db, box))
}

async function maintainStore(
  deps: SnapshotsDeps,
  { lease, queued }: Readonly<{ lease: Lease; queued: QueuedTask }>,
  signal: AbortSignal,
): Promise<void> {
  const { db, clock, settings } = deps
  const tenantId = queued.tenant_id
  const task = queued.task as MaintenanceTask
  const owner = await ownerOf(deps, tenantId)
  if (!owner) return void (await removeTask(db, queued))
  const begunAt = isoNow(clock)
  const plan = await db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    // Another replica may have run the task before this lease was acquired.
    return (await isWaiting(tx, queued)) ? planMaintenance({ ...deps, tx }, owner, task) : undefined
  })
  if (!plan) return
  const watch = watchForBusyBox(deps, lease, signal)
  try {
    const { repositoryId } = await knownRepository(db, tenantId)
    const report = await deps.maintain({ ...maintenanceRepository(settings, tenantId as TenantId), repositoryId }, plan, watch.signal)
    await db.transaction().execute(async (tx) => {
      await holdLease(tx, lease)
      await recordMaintenance(deps, tx, { owner, task, begunAt, report })
      await removeTask(tx, queued)
    })
  } catch (error) {
    if (watch.signal.aborted) return // it stays queued
    await recordFailure(deps, { queued, owner }, error)
  } finally {
    await watch.end()
  }
}

/** Renews the lease; aborts when the box gets other work, the lease is lost, or the daemon drains. */
export function watchForBusyBox(deps: SnapshotsDeps, lease: Lease, draining: AbortSignal) {
  const finished = new AbortController()
  const busy = new AbortController()
  const watching = (async () => {
    for (;;) {
      await deps.clock.sleep(checkEveryMs, finished.signal)
      if (finished.signal.aborted) return
      const shouldContinue = (await renewLease(deps, lease, leaseMs)) && !(await isBoxBusy(deps, lease.name.slice('snapshots:'.length)))
      if (!shouldContinue) return busy.abort()
    }
  })().catch(() => busy.abort())
  const end = async () => {
    finished.abort()
    await watching
  }
  return { signal: AbortSignal.any([busy.signal, draining]), end }
}

/** The tenant's box, or the last box of its snapshots: a bucket keeps snapshots of removed boxes. */
async function ownerOf(deps: SnapshotsDeps, tenantId: string): Promise<SnapshotOwner | undefined> {
  const box = await liveBoxOf(deps.db, tenantId)
  if (box) return box
  const last = await deps.db
    .selectFrom('snapshots')
    .select(['box_id', 'slug'])
    .where('tenant_id', '=', tenantId)
    .orderBy('taken_at', 'desc')
    .executeTakeFirst()
  return last && { id: last.box_id, slug: last.slug, tenantId }
}

async function recordFailure(
  { db, clock, log }: SnapshotsDeps,
  { queued, owner }: Readonly<{ queued: QueuedTask; owner: SnapshotOwner }>,
  error: unknown,
): Promise<void> {
  log.warn({ err: error, slug: owner.slug, task: queued.task }, 'maintenance of a repository failed; the next run of the job retries')
  const reported = isProblem(error) ? { code: error.code, message: error.message } : { code: 'INTERNAL', message: 'see the daemon log' }
  await db.transaction().execute(async (tx) => {
    await lockRepository(tx, queued.tenant_id)
    if (!(await removeTask(tx, queued))) return
    if (isLost(reported)) await recordStoreLost({ tx, clock }, { owner, place: bucket, error: reported })
    await alertUnreadable({ tx, clock }, owner.slug, reported)
    const payload = { boxId: owner.id, slug: owner.slug, task: queued.task, error: reported }
    await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.upkeep_failed', payload })
  })
}
