import { isoIn, isoNow, newId } from '../../core/kit/index.ts'
import { nextTasks, type SnapshotTask } from '../../core/snapshots/index.ts'
import { type BoxRecord, boxById } from '../boxes/index.ts'
import { type Db, holdLease, type Lease, type Tx } from '../db/index.ts'
import type { LeasedLoop } from '../feature/index.ts'
import { enqueueCommand } from '../hosts/index.ts'
import { lastRestoreOf } from './data-history.ts'
import type { SnapshotsDeps } from './deps.ts'
import { enqueueDrill } from './drill-box.ts'
import { isFreeNow, readAvailability } from './free-boxes.ts'
import { type MaintenanceTask, planMaintenance } from './maintain-repository.ts'
import { enqueueRecoveryDrill } from './recover-box.ts'
import { reachesStore } from './snapshot-store.ts'
import { lockRepository, newestReported } from './snapshots.repo.ts'
import type { SnapshotTaskTable } from './snapshots.tables.ts'
import { boxAddress, queueGraceMs } from './take-snapshot.ts'

export type QueuedTask = Pick<SnapshotTaskTable, 'tenant_id' | 'task' | 'asked_at'>

const hourMs = 60 * 60_000
/** A queued task expires after this; the next run of its job queues it again. */
const expiryMs: Readonly<Record<SnapshotTask, number>> = {
  daily: 20 * hourMs,
  thin: 20 * hourMs,
  prune: 6 * 24 * hourMs,
  check: 6 * 24 * hourMs,
  'check-data': 6 * 24 * hourMs,
  drill: 20 * hourMs,
}

/** Queues a task for these tenants; queueing it twice has one effect. */
export async function enqueueTasks({ db, clock }: Pick<SnapshotsDeps, 'db' | 'clock'>, task: SnapshotTask, tenantIds: readonly string[]) {
  const row = { task, asked_at: isoNow(clock), until: isoIn(clock, expiryMs[task]) }
  const rows = tenantIds.map((tenant_id) => ({ tenant_id, ...row }))
  for (let at = 0; at < rows.length; at += chunkSize)
    await db
      .insertInto('snapshot_tasks')
      .values(rows.slice(at, at + chunkSize))
      .onConflict((c) => c.columns(['tenant_id', 'task']).doUpdateSet({ until: row.until }))
      .execute()
}

const chunkSize = 500

/** Queued tasks of these kinds; expired ones are deleted. */
export async function waitingTasks(
  { db, clock }: Pick<SnapshotsDeps, 'db' | 'clock'>,
  tasks: readonly SnapshotTask[],
): Promise<QueuedTask[]> {
  await db.deleteFrom('snapshot_tasks').where('until', '<=', isoNow(clock)).execute()
  return db.selectFrom('snapshot_tasks').selectAll().where('task', 'in', tasks).execute()
}

/** True if the task is still queued; one that was queued again since is another one. */
export async function isWaiting(tx: Tx, { tenant_id, task, asked_at }: QueuedTask): Promise<boolean> {
  const query = tx.selectFrom('snapshot_tasks').select('task').where('tenant_id', '=', tenant_id).where('task', '=', task)
  return (await query.where('asked_at', '=', asked_at).executeTakeFirst()) !== undefined
}

/** Removes a task from the queue, in the transaction that runs it. Returns false when it is gone. */
export async function removeTask(db: Db | Tx, { tenant_id, task }: QueuedTask): Promise<boolean> {
  const removed = await db.deleteFrom('snapshot_tasks').where('tenant_id', '=', tenant_id).where('task', '=', task).executeTakeFirst()
  return removed.numDeletedRows > 0n
}

export const taskLoop = (deps: SnapshotsDeps): LeasedLoop => ({
  name: 'start queued snapshot tasks',
  everyMs: 15_000,
  lease: { name: 'snapshots.turns', ttlMs: 60_000 },
  run: ({ lease }) => startDueTasks(deps, lease),
})

/** One pass over free boxes and hosts. */
async function startDueTasks(deps: SnapshotsDeps, lease: Lease): Promise<void> {
  const queued = await waitingTasks(deps, tasksOfAgents(deps))
  if (queued.length === 0) return
  const { boxOf, isFree, isReachable, busyHosts } = await readAvailability(deps, deps.db)
  const waiting = queued.flatMap((item) => {
    const box = boxOf(item.tenant_id)
    if (!box) return []
    return [
      {
        tenantId: box.tenantId,
        task: item.task,
        askedAt: item.asked_at,
        hostId: box.hostId,
        free: isReachable(box) && isFree(box),
        item,
        box,
      },
    ]
  })
  for (const next of nextTasks(waiting, busyHosts)) {
    const { item, box } = next as (typeof waiting)[number]
    if (await begin(deps, { lease, item }, box)) deps.bus.queued(box.hostId)
  }
}

/** The tasks that agents run; the daemon maintains repositories in a bucket itself. */
const tasksOfAgents = ({ settings }: SnapshotsDeps): readonly SnapshotTask[] =>
  reachesStore(settings) ? ['daily', 'drill'] : ['daily', 'thin', 'prune', 'check', 'check-data', 'drill']

const begin = (deps: SnapshotsDeps, { lease, item }: Readonly<{ lease: Lease; item: QueuedTask }>, box: BoxRecord): Promise<boolean> =>
  deps.db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    await lockRepository(tx, box.tenantId) // a concurrent restore runs first, or sees the started task
    const now = await boxById(tx, box.id)
    if (!now || !isSame(now, box) || !(await isFreeNow(deps, tx, now)) || !(await removeTask(tx, item))) return false
    return starters[item.task](deps, tx, now)
  })

/** True if the box is still on the same host with the same epoch; otherwise the task waits for the next pass. */
const isSame = (now: BoxRecord, { hostId, ownershipEpoch }: BoxRecord) =>
  now.live && now.hostId === hostId && now.ownershipEpoch === ownershipEpoch

type Starter = (deps: SnapshotsDeps, tx: Tx, box: BoxRecord) => Promise<boolean>

/** A snapshot younger than this replaces the daily one, unless its data was replaced since. */
export const freshMs = 20 * 60 * 60_000

const startDaily: Starter = async (deps, tx, box) => {
  const newest = await newestReported(tx, box)
  const replacedAt = (await lastRestoreOf(tx, box))?.ended_at ?? ''
  const isFresh =
    newest && newest.taken_at > isoIn(deps.clock, -freshMs) && newest.taken_at > replacedAt && newest.taken_at <= isoNow(deps.clock)
  if (isFresh) return false
  const { clock, random, deadlineMs } = deps
  const command = { id: newId(random, 'cmd'), hostId: box.hostId, boxId: box.id, deadlineMs: deadlineMs + queueGraceMs }
  await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.snapshot', payload: { ...boxAddress(box), tier: 'daily' } })
  return true
}

/** Every other drill of a box with an archive is of a random moment of it. */
const startDrill: Starter = async (deps, tx, box) => {
  const isOfArchive = deps.archive.tiers[box.tier] && ((deps.random.bytes(1)[0] ?? 0) & 1) === 1
  if (isOfArchive && (await enqueueRecoveryDrill({ ...deps, tx }, box))) return true
  const newest = await newestReported(tx, box)
  if (newest) await enqueueDrill({ ...deps, tx }, box, newest)
  return newest !== undefined
}

const startMaintenance =
  (task: MaintenanceTask): Starter =>
  async (deps, tx, box) => {
    const { clock, random, deadlineMs } = deps
    const { forget, prune, check } = await planMaintenance({ ...deps, tx }, box, task)
    const command = { id: newId(random, 'cmd'), hostId: box.hostId, boxId: box.id, deadlineMs: deadlineMs + queueGraceMs }
    const payload = { ...boxAddress(box), forget: [...forget], prune, check }
    await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.tend_snapshots', payload })
    return true
  }

const starters: Readonly<Record<SnapshotTask, Starter>> = {
  daily: startDaily,
  drill: startDrill,
  thin: startMaintenance('thin'),
  prune: startMaintenance('prune'),
  check: startMaintenance('check'),
  'check-data': startMaintenance('check-data'),
}
