import { alertOf } from '../../core/alerts/index.ts'
import type { BoxCommandPayload, RepositoryReport } from '../../core/boxes/index.ts'
import { type Clock, isoIn, isoNow, type SystemActor } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { appendEvent, type Tx } from '../db/index.ts'
import type { FailureHandlers, ResultHandlers } from '../hosts/index.ts'
import type { MaintenancePlan, SnapshotsDeps } from './deps.ts'
import { evaluateSnapshots } from './retention.ts'
import { lockRepository, recordSnapshot, type SnapshotOwner, setSnapshotStatus, snapshotsOf } from './snapshots.repo.ts'
import { boxOf } from './take-snapshot.ts'

export type MaintenanceTask = 'prune' | 'check' | 'check-data'

const actor: SystemActor = { kind: 'system', name: 'snapshots' }
/** A warm copy only shortens the next snapshot; two days later it shortens nothing. */
const warmMs = 48 * 60 * 60_000
/** Twice this is what one command takes. */
const mostAtOnce = 500
/** A shorter id could mean another snapshot to who deletes. */
const isFullId = (id: string) => id.length === 64
/** A listing of this many may be cut off: what it does not show is not missing. */
const mostListed = 5_000

/**
 * Decides what is to be done in a repository. What is to go counts as gone from this moment on, so that nobody can ask for it while it is
 * taken away; what a listing still shows afterwards is there again. One command takes a thousand: the rest goes next time.
 */
export async function planMaintenance(
  deps: Pick<SnapshotsDeps, 'clock' | 'rule' | 'references'>,
  tx: Tx,
  owner: SnapshotOwner,
  task: MaintenanceTask,
): Promise<MaintenancePlan> {
  const { tenantId } = owner
  await lockRepository(tx, tenantId)
  if (task !== 'prune') return { forget: [], prune: false, check: task === 'check' ? 'structure' : 'data' }
  const judged = ((await evaluateSnapshots(deps, tx, [tenantId])).verdicts.get(tenantId)?.forget ?? [])
    .filter(isFullId)
    .slice(0, mostAtOnce)
  const given = await setSnapshotStatus(tx, tenantId, judged, ['present'], { status: 'forgotten', damaged_by: null })
  if (given.length > 0)
    await recordAudit(tx, deps.clock, { actor, action: 'snapshots.given_up', subject: owner.slug, data: { ids: given } })
  // What is damaged is not written to: a prune could take away what a person may still save.
  const isDamaged = (await snapshotsOf(tx, [tenantId])).some(({ status }) => status === 'damaged')
  return { forget: [...given, ...(await oldWarmCopies(deps, tx, tenantId))], prune: !isDamaged, check: 'none' }
}

async function oldWarmCopies({ clock }: { clock: Clock }, tx: Tx, tenantId: string): Promise<string[]> {
  const query = tx.selectFrom('snapshot_warm_copies').select('snapshot_id').where('tenant_id', '=', tenantId)
  return (await query.where('taken_at', '<=', isoIn(clock, -warmMs)).limit(mostAtOnce).execute()).map(({ snapshot_id }) => snapshot_id)
}

type Tended = Readonly<{ owner: SnapshotOwner; task: MaintenanceTask; begunAt: string; tended: RepositoryReport }>

/** Takes in what looking after a repository brought to light: what is there, what is not, what is damaged. */
export async function recordMaintenance({ clock }: { clock: Clock }, tx: Tx, { owner, task, begunAt, tended }: Tended): Promise<void> {
  const { tenantId } = owner
  await lockRepository(tx, tenantId)
  await bringIn({ clock }, tx, owner, tended)
  const missing = await findMissing(tx, owner, begunAt, tended)
  const { check } = tended
  if (check) await recordCheck(tx, tenantId, check.ok)
  const now = isoNow(clock)
  const looked = { prune: { pruned_at: now }, check: { checked_at: now }, 'check-data': { checked_at: now, data_checked_at: now } }[task]
  await tx
    .updateTable('snapshot_repositories')
    .set({ tended_at: now, ...looked })
    .where('tenant_id', '=', tenantId)
    .execute()
  await wake({ clock }, tx, owner, missing, tended)
  const tell = (eventType: 'snapshot.missing' | 'snapshot.check_failed', payload: object) =>
    appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType, payload: { boxId: owner.id, slug: owner.slug, ...payload } })
  if (missing.length > 0) await tell('snapshot.missing', { snapshotIds: missing })
  if (check && !check.ok) await tell('snapshot.check_failed', { error: check.error })
}

/** A repository that is not whole is for a person to hear of; one that was read and found whole takes that back. */
async function wake({ clock }: { clock: Clock }, tx: Tx, { slug }: SnapshotOwner, missing: readonly string[], { check }: RepositoryReport) {
  const because = 'a later look found the repository whole'
  const broken = check !== null && !check.ok
  if (missing.length > 0 || broken)
    await raiseAlert(tx, clock, alertOf.snapshot_damaged({ slug, missing, error: broken ? check.error : null }))
  else if (check) await closeAlerts(tx, clock, { subject: slug, kinds: ['snapshot_damaged'], because })
}

/** Listed, but unknown or thought to be gone. What the last listing did not show was not taken before it. A warm copy is nobody's snapshot; it is only remembered to be given up. */
async function bringIn({ clock }: { clock: Clock }, tx: Tx, owner: SnapshotOwner, { present, forgotten }: RepositoryReport): Promise<void> {
  const { tenantId } = owner
  const known = new Map((await snapshotsOf(tx, [tenantId])).map((row) => [row.snapshot_id, row]))
  const notBefore = await lastTended(tx, tenantId)
  await tx.deleteFrom('snapshot_warm_copies').where('tenant_id', '=', tenantId).execute()
  for (const { snapshotId, tier, commandId, takenAt, addedBytes } of present) {
    if (known.has(snapshotId)) continue
    const facts = { command_id: commandId, added_bytes: Math.round(addedBytes) }
    if (tier !== null) await recordSnapshot(tx, clock, owner, { snapshotId, tier, takenAt, notBefore, ...facts })
    else if (commandId !== null)
      await tx.insertInto('snapshot_warm_copies').values({ tenant_id: tenantId, snapshot_id: snapshotId, taken_at: takenAt }).execute()
  }
  const gone = new Set(forgotten)
  const back = present.filter(({ snapshotId }) => !gone.has(snapshotId)).map(({ snapshotId }) => snapshotId)
  const returned = back.filter((id) => ['forgotten', 'missing'].includes(known.get(id)?.status ?? ''))
  await setSnapshotStatus(tx, tenantId, returned, ['forgotten', 'missing'], { status: 'present', damaged_by: null })
}

async function lastTended(tx: Tx, tenantId: string): Promise<string | undefined> {
  const query = tx.selectFrom('snapshot_repositories').select('tended_at').where('tenant_id', '=', tenantId)
  return (await query.executeTakeFirst())?.tended_at ?? undefined
}

/** What the registry has, nobody gave up, and the listing does not show though it began later than the registry learned of it. */
async function findMissing(tx: Tx, { tenantId }: SnapshotOwner, begunAt: string, { present }: RepositoryReport): Promise<string[]> {
  if (present.length >= mostListed) return []
  const listed = new Set(present.map(({ snapshotId }) => snapshotId))
  const lost = (await snapshotsOf(tx, [tenantId])).filter((row) => row.recorded_at < begunAt && !listed.has(row.snapshot_id))
  const ids = lost.map(({ snapshot_id }) => snapshot_id)
  return setSnapshotStatus(tx, tenantId, ids, ['present', 'damaged'], { status: 'missing', damaged_by: null })
}

/** A repository that fails its check may have lost a part of any snapshot; a good check takes that back, but not what a drill found. */
async function recordCheck(tx: Tx, tenantId: string, ok: boolean): Promise<void> {
  const rows = (await snapshotsOf(tx, [tenantId])).filter((row) => (ok ? row.damaged_by === 'check' : row.status === 'present'))
  const ids = rows.map(({ snapshot_id }) => snapshot_id)
  if (ok) await setSnapshotStatus(tx, tenantId, ids, ['damaged'], { status: 'present', damaged_by: null })
  else await setSnapshotStatus(tx, tenantId, ids, ['present'], { status: 'damaged', damaged_by: 'check' })
}

type Deps = Readonly<{ clock: Clock }>
type Payload = BoxCommandPayload<'tenant-box.tend_snapshots'>

const taskOf = ({ check }: Payload): MaintenanceTask => (check === 'none' ? 'prune' : check === 'structure' ? 'check' : 'check-data')

/** What an agent found when it looked after a repository on its own host. */
export const maintenanceResults = (deps: Deps): ResultHandlers => ({
  'tenant-box.tend_snapshots': async (tx, command, tended) => {
    const box = await boxOf(tx, command)
    if (box) await recordMaintenance(deps, tx, { owner: box, task: taskOf(command.payload as Payload), begunAt: command.createdAt, tended })
  },
})

/** What was to be given up counts as gone until a listing shows it; the next tidying tries again. */
export const maintenanceFailures = ({ clock }: Deps): FailureHandlers => ({
  'tenant-box.tend_snapshots': async (tx, command) => {
    const { slug } = command.payload as Payload
    const payload = { boxId: command.boxId, slug, commandId: command.id, error: command.error }
    await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.upkeep_failed', payload })
  },
})
