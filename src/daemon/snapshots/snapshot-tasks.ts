import { isoIn, isoNow, newId } from '../../core/kit/index.ts'
import { nextTasks, type SnapshotTask } from '../../core/snapshots/index.ts'
import { type BoxRecord, boxById } from '../boxes/index.ts'
import { acquireLease, type Db, holdLease, type Lease, releaseLease, type Tx } from '../db/index.ts'
import { enqueueCommand } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { enqueueDrill } from './drill-box.ts'
import { isFreeNow, readAvailability } from './free-boxes.ts'
import { type MaintenanceTask, planMaintenance } from './maintain-repository.ts'
import { reachesStore } from './snapshot-store.ts'
import { lockRepository, newestPresent } from './snapshots.repo.ts'
import type { SnapshotTaskTable } from './snapshots.tables.ts'
import { boxAddress, queueGraceMs } from './take-snapshot.ts'

export type QueuedTask = Pick<SnapshotTaskTable, 'tenant_id' | 'task' | 'asked_at'>

const hourMs = 60 * 60_000
/** After this a turn is not worth taking any more: the next run of its job asks anew. */
const patienceMs: Readonly<Record<SnapshotTask, number>> = {
  daily: 20 * hourMs,
  prune: 6 * 24 * hourMs,
  check: 6 * 24 * hourMs,
  'check-data': 6 * 24 * hourMs,
  drill: 20 * hourMs,
}

/** Asks for something to be done for these tenants in their turn; asking twice asks once. */
export async function enqueueTasks({ db, clock }: Pick<SnapshotsDeps, 'db' | 'clock'>, task: SnapshotTask, tenantIds: readonly string[]) {
  const asked = { task, asked_at: isoNow(clock), until: isoIn(clock, patienceMs[task]) }
  const rows = tenantIds.map((tenant_id) => ({ tenant_id, ...asked }))
  for (let at = 0; at < rows.length; at += chunkSize)
    await db
      .insertInto('snapshot_turns')
      .values(rows.slice(at, at + chunkSize))
      .onConflict((c) => c.columns(['tenant_id', 'task']).doUpdateSet({ until: asked.until }))
      .execute()
}

const chunkSize = 500

/** Turns that wait, of these tasks; those that nobody could take in time are dropped. */
export async function waitingTasks(
  { db, clock }: Pick<SnapshotsDeps, 'db' | 'clock'>,
  tasks: readonly SnapshotTask[],
): Promise<QueuedTask[]> {
  await db.deleteFrom('snapshot_turns').where('until', '<=', isoNow(clock)).execute()
  return db.selectFrom('snapshot_turns').selectAll().where('task', 'in', tasks).execute()
}

/** True until somebody takes it; one that was asked for anew since is another turn. */
export async function isWaiting(tx: Tx, { tenant_id, task, asked_at }: QueuedTask): Promise<boolean> {
  const query = tx.selectFrom('snapshot_turns').select('task').where('tenant_id', '=', tenant_id).where('task', '=', task)
  return (await query.where('asked_at', '=', asked_at).executeTakeFirst()) !== undefined
}

/** Takes a turn off the list, in the transaction that acts upon it; false when it is gone. */
export async function removeTask(db: Db | Tx, { tenant_id, task }: QueuedTask): Promise<boolean> {
  const taken = await db.deleteFrom('snapshot_turns').where('tenant_id', '=', tenant_id).where('task', '=', task).executeTakeFirst()
  return taken.numDeletedRows > 0n
}

const leaseName = 'snapshots.turns'
const leaseMs = 60_000
const everyMs = 15_000

/** Every quarter of a minute, in one replica: what jobs asked for is begun where box and host are free. */
export async function runSnapshotTasks(deps: SnapshotsDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps
  while (!signal.aborted) {
    await startDueTasks(deps).catch((err) => log.warn({ err }, 'could not begin what snapshots wait for'))
    await clock.sleep(everyMs, signal)
  }
  const lease = await acquireLease(deps, { name: leaseName, owner: deps.holder, ttlMs: leaseMs }).catch(() => undefined)
  if (lease) await releaseLease(deps, lease).catch(() => undefined)
}

/** One round; does nothing while another replica owns it. */
export async function startDueTasks(deps: SnapshotsDeps): Promise<void> {
  const lease = await acquireLease(deps, { name: leaseName, owner: deps.holder, ttlMs: leaseMs })
  if (!lease) return
  const turns = await waitingTasks(deps, tasksOfAgents(deps))
  if (turns.length === 0) return
  const { boxOf, isFree, isReachable, busyHosts } = await readAvailability(deps, deps.db)
  const waiting = turns.flatMap((turn) => {
    const box = boxOf(turn.tenant_id)
    if (!box) return []
    return [
      {
        tenantId: box.tenantId,
        task: turn.task,
        askedAt: turn.asked_at,
        hostId: box.hostId,
        free: isReachable(box) && isFree(box),
        turn,
        box,
      },
    ]
  })
  for (const next of nextTasks(waiting, busyHosts)) {
    const { turn, box } = next as (typeof waiting)[number]
    if (await begin(deps, lease, turn, box)) deps.bus.queued(box.hostId)
  }
}

/** Where the daemon reaches the store it looks after the repositories itself. */
const tasksOfAgents = ({ settings }: SnapshotsDeps): readonly SnapshotTask[] =>
  reachesStore(settings) ? ['daily', 'drill'] : ['daily', 'prune', 'check', 'check-data', 'drill']

const begin = (deps: SnapshotsDeps, lease: Lease, turn: QueuedTask, box: BoxRecord): Promise<boolean> =>
  deps.db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    await lockRepository(tx, box.tenantId) // a restore that is asked for in this moment goes first or sees what was begun
    const now = await boxById(tx, box.id)
    if (!now || !isSame(now, box) || !(await isFreeNow(deps, tx, now)) || !(await removeTask(tx, turn))) return false
    return beginners[turn.task](deps, tx, now)
  })

/** Still where the survey found it, seconds ago; one that was moved or removed since waits for the next round. */
const isSame = (now: BoxRecord, { hostId, ownershipEpoch }: BoxRecord) =>
  now.live && now.hostId === hostId && now.ownershipEpoch === ownershipEpoch

type Beginner = (deps: SnapshotsDeps, tx: Tx, box: BoxRecord) => Promise<boolean>

/** A snapshot taken since, by an update for example, is as good. */
export const freshMs = 20 * 60 * 60_000

const beginDaily: Beginner = async (deps, tx, box) => {
  const newest = await newestPresent(tx, box.tenantId)
  if (newest && newest.taken_at > isoIn(deps.clock, -freshMs)) return false
  const { clock, random, deadlineMs } = deps
  const command = { id: newId(random, 'cmd'), hostId: box.hostId, boxId: box.id, deadlineMs: deadlineMs + queueGraceMs }
  await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.snapshot', payload: { ...boxAddress(box), tier: 'daily' } })
  return true
}

const beginDrill: Beginner = async (deps, tx, box) => {
  const newest = await newestPresent(tx, box.tenantId, 'complete')
  if (newest) await enqueueDrill(deps, tx, box, newest)
  return newest !== undefined
}

const beginTending =
  (task: MaintenanceTask): Beginner =>
  async (deps, tx, box) => {
    const { clock, random, deadlineMs } = deps
    const { forget, prune, check } = await planMaintenance(deps, tx, box, task)
    const command = { id: newId(random, 'cmd'), hostId: box.hostId, boxId: box.id, deadlineMs: deadlineMs + queueGraceMs }
    const payload = { ...boxAddress(box), forget: [...forget], prune, check }
    await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.tend_snapshots', payload })
    return true
  }

const beginners: Readonly<Record<SnapshotTask, Beginner>> = {
  daily: beginDaily,
  drill: beginDrill,
  prune: beginTending('prune'),
  check: beginTending('check'),
  'check-data': beginTending('check-data'),
}
