import { isoNow, isProblem, type TenantId } from '../../core/kit/index.ts'
import type { SnapshotTask } from '../../core/snapshots/index.ts'
import { acquireLease, appendEvent, holdLease, type Lease, releaseLease, renewLease } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { isFreeNow, liveBoxOf } from './free-boxes.ts'
import { type MaintenanceTask, planMaintenance, recordMaintenance } from './maintain-repository.ts'
import { maintenanceRepository, reachesStore } from './snapshot-store.ts'
import { isWaiting, type QueuedTask, removeTask, waitingTasks } from './snapshot-tasks.ts'
import { lockRepository, type SnapshotOwner } from './snapshots.repo.ts'

const tasks: readonly SnapshotTask[] = ['prune', 'check', 'check-data']
const everyMs = 30_000
const leaseMs = 60_000
const lookEveryMs = 10_000

/**
 * Repositories in a bucket, looked after by the daemon with a credential that agents lack (SECURITY, Agents). One lease per repository; it gives
 * way to whatever is to be done with the box, also when it has begun.
 */
export async function runStoreMaintenance(deps: SnapshotsDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps
  while (!signal.aborted) {
    await maintainStores(deps, signal).catch((err) =>
      log.warn({ err }, 'the upkeep of snapshot repositories broke off and will be tried again'),
    )
    await clock.sleep(everyMs, signal)
  }
}

/** One round through all that waits; what gives way keeps its turn. */
export async function maintainStores(deps: SnapshotsDeps, signal: AbortSignal): Promise<void> {
  if (!reachesStore(deps.settings)) return
  const turns = await waitingTasks(deps, tasks)
  for (const turn of turns.sort(inOrder)) {
    if (signal.aborted) return
    if (await isBoxBusy(deps, turn.tenant_id)) continue
    const lease = await acquireLease(deps, { name: `snapshots:${turn.tenant_id}`, owner: deps.holder, ttlMs: leaseMs })
    if (!lease) continue
    await maintainStore(deps, lease, turn, signal).finally(() => releaseLease(deps, lease))
  }
}

const inOrder = (a: QueuedTask, b: QueuedTask) => tasks.indexOf(a.task) - tasks.indexOf(b.task) || (a.asked_at < b.asked_at ? -1 : 1)

/** Somebody holds the tenant's box, or a command waits for it or runs on it. A repository without a box is wanted by nobody. */
async function isBoxBusy(deps: SnapshotsDeps, tenantId: string): Promise<boolean> {
  const box = await liveBoxOf(deps.db, tenantId)
  return box !== undefined && !(await isFreeNow(deps, deps.db, box))
}

async function maintainStore(deps: SnapshotsDeps, lease: Lease, turn: QueuedTask, signal: AbortSignal): Promise<void> {
  const { db, clock, settings } = deps
  const tenantId = turn.tenant_id
  const task = turn.task as MaintenanceTask
  const owner = await ownerOf(deps, tenantId)
  if (!owner) return void (await removeTask(db, turn))
  const begunAt = isoNow(clock)
  const tending = await db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    // Another replica may have taken it between our look and our lease: to read all data twice helps nobody.
    return (await isWaiting(tx, turn)) ? planMaintenance(deps, tx, owner, task) : undefined
  })
  if (!tending) return
  const watch = watchForBusyBox(deps, lease, signal)
  try {
    const tended = await deps.maintain(maintenanceRepository(settings, tenantId as TenantId), tending, watch.signal)
    await db.transaction().execute(async (tx) => {
      await holdLease(tx, lease)
      await recordMaintenance(deps, tx, { owner, task, begunAt, tended })
      await removeTask(tx, turn)
    })
  } catch (error) {
    if (watch.signal.aborted) return // it keeps its turn
    await recordFailure(deps, turn, owner, error)
  } finally {
    await watch.end()
  }
}

/** Aborts when the box is wanted, the lease was lost, or the daemon drains; keeps the lease until then. */
function watchForBusyBox(deps: SnapshotsDeps, lease: Lease, draining: AbortSignal) {
  const over = new AbortController()
  const wanted = new AbortController()
  const watching = (async () => {
    for (;;) {
      await deps.clock.sleep(lookEveryMs, over.signal)
      if (over.signal.aborted) return
      const goesOn = (await renewLease(deps, lease, leaseMs)) && !(await isBoxBusy(deps, lease.name.slice('snapshots:'.length)))
      if (!goesOn) return wanted.abort()
    }
  })().catch(() => wanted.abort())
  const end = async () => {
    over.abort()
    await watching
  }
  return { signal: AbortSignal.any([wanted.signal, draining]), end }
}

/** The tenant's box, or who it was: a bucket keeps what a removed box left. */
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

async function recordFailure({ db, clock, log }: SnapshotsDeps, turn: QueuedTask, owner: SnapshotOwner, error: unknown): Promise<void> {
  log.warn({ err: error, slug: owner.slug, task: turn.task }, 'a repository could not be looked after; the next run of the job tries again')
  const told = isProblem(error) ? { code: error.code, message: error.message } : { code: 'INTERNAL', message: 'see the log of the daemon' }
  await db.transaction().execute(async (tx) => {
    await lockRepository(tx, turn.tenant_id)
    if (!(await removeTask(tx, turn))) return
    const payload = { boxId: owner.id, slug: owner.slug, task: turn.task, error: told }
    await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.upkeep_failed', payload })
  })
}
