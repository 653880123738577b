import { alertKey } from '../../core/alerts/index.ts'
import type { AgentError, BoxCommandPayload, RepositoryReport } from '../../core/boxes/index.ts'
import { type Clock, isoIn, isoNow, type SystemActor } from '../../core/kit/index.ts'
import { expiredParts } from '../../core/snapshots/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { appendEvent, type Tx, type WithTx } from '../db/index.ts'
import type { FailureHandlers, ResultHandlers } from '../hosts/index.ts'
import { snapshotDamaged } from './alerts.ts'
import { partsOfTenant, recordParts, removeParts } from './archive.repo.ts'
import type { MaintenancePlan, SnapshotsDeps } from './deps.ts'
import { recordRepositoryId, recordStoreBack } from './lost-stores.ts'
import { evaluateSnapshots } from './retention.ts'
import {
  lockRepository,
  recordSnapshot,
  repositoryRow,
  type SnapshotOwner,
  type SnapshotRow,
  setSnapshotStatus,
  snapshotsOf,
} from './snapshots.repo.ts'
import { boxOf } from './take-snapshot.ts'

/** `thin`: only removes what is expired; the space is freed by the next prune. */
export type MaintenanceTask = 'thin' | 'prune' | 'check' | 'check-data'

const actor: SystemActor = { kind: 'system', name: 'snapshots' }
/** A warm copy only speeds up the next snapshot; after two days it is of no use. */
const warmMs = 48 * 60 * 60_000
/** Half of the limit of one command. */
const maxExpired = 500
/** A box that is always written to makes 1,440 a day. */
const maxExpiredParts = 2_000
/** A shorter id could match another snapshot when deleting. */
const isFullId = (id: string) => id.length === 64
/** A listing of this size may be truncated: a snapshot that is not in it may exist. */
const maxListed = 5_000

/**
 * Plans the maintenance of a repository. Expired snapshots get the status `forgotten` before they are deleted, so that no restore can use them; one that
 * is still listed afterwards becomes `present` again.
 */
export async function planMaintenance(
  deps: WithTx<Pick<SnapshotsDeps, 'clock' | 'rule' | 'references' | 'archive'>>,
  owner: SnapshotOwner,
  task: MaintenanceTask,
): Promise<MaintenancePlan> {
  const { tx } = deps
  const { tenantId } = owner
  await lockRepository(tx, tenantId)
  if (task !== 'prune' && task !== 'thin') return { forget: [], prune: false, check: task === 'check' ? 'structure' : 'data' }
  const expired = ((await evaluateSnapshots(deps, tx, [tenantId])).verdicts.get(tenantId)?.forget ?? [])
    .filter(isFullId)
    .slice(0, maxExpired)
  const forgotten = await setSnapshotStatus(tx, { tenantId, ids: expired, from: ['present'] }, { status: 'forgotten', damaged_by: null })
  if (forgotten.length > 0)
    await recordAudit(tx, deps.clock, { actor, action: 'snapshots.given_up', subject: owner.slug, data: { ids: forgotten } })
  const others = [...(await oldWarmCopies(deps, tx, tenantId)), ...(await expiredArchive(deps, tx, tenantId))]
  const registered = await snapshotsOf(tx, [tenantId])
  // Parts and copies are what agents say that they are: one that names a snapshot must not end it.
  const isSnapshot = new Set(registered.map(({ snapshot_id }) => snapshot_id))
  // A repository with damage is not pruned: a prune could delete data that can still be saved.
  const isDamaged = registered.some(({ status, damaged_by }) => status === 'damaged' || damaged_by !== null)
  const forget = [...forgotten, ...others.filter((id) => !isSnapshot.has(id))]
  return { forget, prune: task === 'prune' && !isDamaged, check: 'none' }
}

/** The files of a base look like a warm copy. */
async function oldWarmCopies({ clock }: { clock: Clock }, tx: Tx, tenantId: string): Promise<string[]> {
  const query = tx.selectFrom('snapshot_warm_copies').select('snapshot_id').where('tenant_id', '=', tenantId)
  const inUse = new Set((await partsOfTenant(tx, tenantId)).map(({ data }) => data))
  const old = (await query.where('taken_at', '<=', isoIn(clock, -warmMs)).execute()).map(({ snapshot_id }) => snapshot_id)
  return old.filter((id) => !inUse.has(id)).slice(0, maxExpired)
}

/** Their rows go first, so that no recovery can use them; one that is still listed afterwards is registered again. */
async function expiredArchive({ clock, archive }: Pick<SnapshotsDeps, 'clock' | 'archive'>, tx: Tx, tenantId: string): Promise<string[]> {
  const expired = expiredParts(await partsOfTenant(tx, tenantId), { days: archive.days, now: isoNow(clock) }).slice(0, maxExpiredParts)
  await removeParts(tx, tenantId, expired)
  return expired
}

type Maintained = Readonly<{ owner: SnapshotOwner; task: MaintenanceTask; begunAt: string; report: RepositoryReport }>

/** Stores the result of maintenance: new, missing and damaged snapshots. */
export async function recordMaintenance({ clock }: { clock: Clock }, tx: Tx, { owner, task, begunAt, report }: Maintained): Promise<void> {
  const { tenantId } = owner
  await lockRepository(tx, tenantId)
  await recordRepositoryId(tx, tenantId, report.repositoryId)
  const wasLost = (await repositoryRow(tx, tenantId)).lost_at !== null
  await recordListed({ clock, tx }, owner, report)
  await recordStoreBack({ tx, clock }, owner, 'the repository is there again')
  const missing = await findMissing(tx, owner, { begunAt, report, wasLost })
  const { check } = report
  if (check) await recordCheck(tx, tenantId, check.ok)
  const now = isoNow(clock)
  const times = {
    thin: {},
    prune: { pruned_at: now },
    check: { checked_at: now },
    'check-data': { checked_at: now, data_checked_at: now },
  }[task]
  await tx
    .updateTable('snapshot_repositories')
    .set({ tended_at: now, ...times })
    .where('tenant_id', '=', tenantId)
    .execute()
  await updateAlerts({ clock }, tx, { slug: owner.slug, missing, check: report.check })
  const publish = (eventType: 'snapshot.missing' | 'snapshot.check_failed', payload: object) =>
    appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType, payload: { boxId: owner.id, slug: owner.slug, ...payload } })
  if (missing.length > 0) await publish('snapshot.missing', { snapshotIds: missing })
  if (check && !check.ok) await publish('snapshot.check_failed', { error: check.error })
}

/** Raises an alert for a repository with missing or damaged snapshots; a good check closes it. */
async function updateAlerts(
  { clock }: { clock: Clock },
  tx: Tx,
  { slug, missing, check }: Readonly<{ slug: string; missing: readonly string[]; check: RepositoryReport['check'] }>,
) {
  const because = 'a later check verified the repository'
  const broken = check !== null && !check.ok
  if (missing.length > 0 || broken) await raiseAlert(tx, clock, snapshotDamaged({ slug, missing, error: broken ? check.error : null }))
  else if (check) await closeAlerts(tx, clock, { keys: [alertKey('snapshot_damaged', slug)], because })
}

/** Registers listed snapshots that are unknown or counted as gone. A snapshot was taken after the last listing that did not show it; a warm copy is registered only for its deletion. */
async function recordListed(
  { clock, tx }: WithTx<{ clock: Clock }>,
  owner: SnapshotOwner,
  { present, forgotten, archive = [] }: RepositoryReport,
): Promise<void> {
  const { tenantId } = owner
  // Also what an agent could not report.
  await recordParts(tx, owner, archive)
  const known = new Map((await snapshotsOf(tx, [tenantId])).map((row) => [row.snapshot_id, row]))
  const notBefore = await lastTended(tx, tenantId)
  await tx.deleteFrom('snapshot_warm_copies').where('tenant_id', '=', tenantId).execute()
  for (const { snapshotId, tier, commandId, takenAt, addedBytes } of present) {
    const row = known.get(snapshotId)
    if (row && row.taken_at > isoNow(clock)) await correctTime({ clock, tx }, row, takenAt)
    if (row) continue
    const facts = { command_id: commandId, added_bytes: Math.round(addedBytes) }
    if (tier !== null) await recordSnapshot({ tx, clock }, owner, { snapshotId, tier, takenAt, notBefore, ...facts })
    else if (commandId !== null)
      await tx.insertInto('snapshot_warm_copies').values({ tenant_id: tenantId, snapshot_id: snapshotId, taken_at: takenAt }).execute()
  }
  const gone = new Set(forgotten)
  const back = present.filter(({ snapshotId }) => !gone.has(snapshotId)).map(({ snapshotId }) => snapshotId)
  const returned = back.filter((id) => ['forgotten', 'missing'].includes(known.get(id)?.status ?? ''))
  const from = ['forgotten', 'missing'] as const
  // The damage that was found before a loss is remembered.
  for (const damaged_by of [null, 'drill', 'check'] as const) {
    const ids = returned.filter((id) => (known.get(id)?.damaged_by ?? null) === damaged_by)
    await setSnapshotStatus(tx, { tenantId, ids, from }, { status: damaged_by ? 'damaged' : 'present', damaged_by })
  }
}

/** The clock of this machine was wrong when the snapshot was registered; the repository has the time of its host. */
async function correctTime({ clock, tx }: WithTx<{ clock: Clock }>, row: SnapshotRow, listedAt: string): Promise<void> {
  const now = isoNow(clock)
  const times = { taken_at: listedAt < now ? listedAt : now, recorded_at: now }
  const one = tx.updateTable('snapshots').set(times).where('tenant_id', '=', row.tenant_id)
  await one.where('snapshot_id', '=', row.snapshot_id).execute()
}

async function lastTended(tx: Tx, tenantId: string): Promise<string | undefined> {
  const query = tx.selectFrom('snapshot_repositories').select('tended_at').where('tenant_id', '=', tenantId)
  return (await query.executeTakeFirst())?.tended_at ?? undefined
}

type Listing = Readonly<{ begunAt: string; report: RepositoryReport; wasLost: boolean }>

/**
 * Registered snapshots that a listing lacks although it began after they were registered. `wasLost`: all of them were missing, so those that did
 * not come back with the store are reported now.
 */
async function findMissing(tx: Tx, { tenantId }: SnapshotOwner, { begunAt, report: { present }, wasLost }: Listing): Promise<string[]> {
  if (present.length >= maxListed) return []
  const listed = new Set(present.map(({ snapshotId }) => snapshotId))
  const lost = (await snapshotsOf(tx, [tenantId])).filter((row) => row.recorded_at < begunAt && !listed.has(row.snapshot_id))
  const ids = lost.map(({ snapshot_id }) => snapshot_id)
  const from = wasLost ? (['present', 'damaged', 'missing'] as const) : (['present', 'damaged'] as const)
  return setSnapshotStatus(tx, { tenantId, ids, from }, { status: 'missing', damaged_by: null })
}

/** A failed check marks every snapshot of the repository as damaged; a good check reverts that, but not the damage that a drill found. */
async function recordCheck(tx: Tx, tenantId: string, ok: boolean): Promise<void> {
  const rows = (await snapshotsOf(tx, [tenantId])).filter((row) => (ok ? row.damaged_by === 'check' : row.status === 'present'))
  const ids = rows.map(({ snapshot_id }) => snapshot_id)
  if (ok) await setSnapshotStatus(tx, { tenantId, ids, from: ['damaged'] }, { status: 'present', damaged_by: null })
  else await setSnapshotStatus(tx, { tenantId, ids, from: ['present'] }, { status: 'damaged', damaged_by: 'check' })
}

/** A repository whose keys are gone or another's cannot be restored from, whatever its packs are. */
export async function alertUnreadable({ tx, clock }: WithTx<{ clock: Clock }>, slug: string, error: AgentError | null): Promise<void> {
  if (error?.code === 'BACKUP_KEY_INVALID') await raiseAlert(tx, clock, snapshotDamaged({ slug, missing: [], error }))
}

type Deps = Readonly<{ clock: Clock }>
type Payload = BoxCommandPayload<'tenant-box.tend_snapshots'>

const taskOf = ({ check, prune }: Payload): MaintenanceTask =>
  check === 'none' ? (prune ? 'prune' : 'thin') : check === 'structure' ? 'check' : 'check-data'

/** Stores the result of maintenance that an agent ran on its own host. */
export const maintenanceResults = (deps: Deps): ResultHandlers => ({
  'tenant-box.tend_snapshots': async (tx, command, report) => {
    const box = await boxOf(tx, command)
    if (box) await recordMaintenance(deps, tx, { owner: box, task: taskOf(command.payload as Payload), begunAt: command.createdAt, report })
  },
})

/** Expired snapshots keep the status `forgotten` until a listing shows them; the next prune retries. */
export const maintenanceFailures = ({ clock }: Deps): FailureHandlers => ({
  'tenant-box.tend_snapshots': async (tx, command) => {
    const { slug } = command.payload as Payload
    await alertUnreadable({ tx, clock }, slug, command.error)
    const payload = { boxId: command.boxId, slug, commandId: command.id, error: command.error }
    await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.upkeep_failed', payload })
  },
})
