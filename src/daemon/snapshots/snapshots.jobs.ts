import { isoIn, isoNow, plural } from '../../core/kit/index.ts'
import { dueDrills, type SnapshotStatus } from '../../core/snapshots/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { type Cron, defineCron } from '../feature/index.ts'
import { proofsLate, proofsLateKey } from './alerts.ts'
import { replacedSince } from './data-history.ts'
import type { SnapshotsDeps } from './deps.ts'
import { lastProofs, lastTried } from './proofs.ts'
import { assertSnapshotsConfigured } from './snapshot-store.ts'
import { enqueueTasks, freshMs } from './snapshot-tasks.ts'
import { newestPerTenant } from './snapshots.repo.ts'
import { remindOfLate } from './watch-snapshots.ts'

/** Jobs only queue tasks, which run when box and host are free. None of them starts an update. */
export const snapshotsJobs = (deps: SnapshotsDeps): Cron[] => {
  const job = (
    { key, expression, description }: Readonly<{ key: string; expression: string; description: string }>,
    run: (deps: SnapshotsDeps) => Promise<string>,
  ) =>
    defineCron({
      key,
      expression,
      description,
      run: async () => {
        assertSnapshotsConfigured(deps.settings)
        return run(deps)
      },
    })
  return [
    job(
      {
        key: 'snapshot-daily',
        expression: '15 1 * * *',
        description: 'Queue a snapshot of every managed box whose newest is older than 20 h or its last restore, one at a time per host',
      },
      daily,
    ),
    job({ key: 'archive-thin', expression: '30 5 * * *', description: 'Remove parts of archives that no moment to restore needs' }, thin),
    job({ key: 'snapshot-prune', expression: '45 4 * * 6', description: 'Delete expired snapshots and free their space' }, prune),
    job(
      {
        key: 'snapshot-check',
        expression: '45 4 * * 0',
        description: 'Check every repository, and read all data of the least recently read quarter',
      },
      check,
    ),
    job(
      {
        key: 'snapshot-drill',
        expression: '30 18-23 * * *',
        description: 'Test-restore snapshots in isolation: every box within four weeks',
      },
      drill,
    ),
  ]
}

type ManagedBox = Readonly<{ tenantId: string; slug: string; createdAt: string }>

/** Managed boxes without their reports, which are most of the data at ten thousand boxes. */
const managedBoxes = ({ db }: SnapshotsDeps): Promise<ManagedBox[]> =>
  db
    .selectFrom('boxes')
    .select(['tenant_id as tenantId', 'slug', 'created_at as createdAt'])
    .where('live', '=', 1)
    .where('managed', '=', 1)
    .orderBy('slug')
    .execute()

async function daily(deps: SnapshotsDeps): Promise<string> {
  const boxes = await managedBoxes(deps)
  const newest = await newestPerTenant(deps.db, isoNow(deps.clock))
  const since = isoIn(deps.clock, -freshMs)
  const replacedAt = await replacedSince(deps.db, since)
  const due = boxes.filter(({ tenantId }) => (newest.get(tenantId) ?? '') <= (replacedAt.get(tenantId) ?? since))
  await enqueueTasks(
    deps,
    'daily',
    due.map(({ tenantId }) => tenantId),
  )
  await remindOfLate(deps)
  return `${plural(due.length, 'box', 'boxes')} queued, ${boxes.length - due.length} with a fresh snapshot`
}

async function prune(deps: SnapshotsDeps): Promise<string> {
  const tenants = await tenantsWithSnapshots(deps, ['present', 'damaged'])
  await enqueueTasks(deps, 'prune', tenants)
  const deleted = await deleteHistory(deps)
  return `${plural(tenants.length, 'repository', 'repositories')} queued for pruning; ${plural(deleted, 'old record')} deleted`
}

async function thin(deps: SnapshotsDeps): Promise<string> {
  const rows = await deps.db.selectFrom('archive_parts').select('tenant_id').distinct().execute()
  const tenants = rows.map(({ tenant_id }) => tenant_id).sort()
  await enqueueTasks(deps, 'thin', tenants)
  return `${plural(tenants.length, 'archive')} queued`
}

/** A check is due weekly and a verified restore within four weeks: later than this, several were missed. */
const unprovenMs = 35 * 24 * 60 * 60_000

/** Raises an alert for overdue checks and drills: failed maintenance is otherwise only in the log. */
async function alertUnproven(deps: SnapshotsDeps, checkedAt: ReadonlyMap<string, string | null>): Promise<void> {
  const { db, clock } = deps
  const since = isoIn(clock, -unprovenMs)
  const proven = await lastProofs(db, isoNow(clock))
  const isLate = (at: string | null | undefined, createdAt: string) => (at ?? createdAt) <= since
  const [first, ...others] = (await managedBoxes(deps)).flatMap(({ tenantId, slug, createdAt }) => {
    const [checked, provenAt] = [checkedAt.get(tenantId) ?? null, proven.get(tenantId) ?? null]
    const unchecked = isLate(checked, createdAt)
    return unchecked || isLate(provenAt, createdAt) ? [{ slug, unchecked, checkedAt: checked, provenAt }] : []
  })
  await db.transaction().execute(async (tx) => {
    if (first) await raiseAlert(tx, clock, proofsLate([first, ...others]))
    else await closeAlerts(tx, clock, { keys: [proofsLateKey], because: 'all checks and drills are up to date' })
  })
}

/** Reading all data is expensive: each repository is read once a month. */
const dataShare = 1 / 4

async function check(deps: SnapshotsDeps): Promise<string> {
  const rows = await deps.db.selectFrom('snapshot_repositories').select(['tenant_id', 'checked_at', 'data_checked_at']).execute()
  const readAt = new Map(rows.map((row) => [row.tenant_id, row.data_checked_at ?? '']))
  // Missing ones too: a check finds them again.
  const tenants = await tenantsWithSnapshots(deps, ['present', 'damaged', 'missing'])
  const unreadFirst = [...tenants].sort((a, b) => ((readAt.get(a) ?? '') < (readAt.get(b) ?? '') ? -1 : 1))
  const data = unreadFirst.slice(0, Math.ceil(tenants.length * dataShare))
  await enqueueTasks(deps, 'check-data', data)
  await enqueueTasks(deps, 'check', unreadFirst.slice(data.length))
  await alertUnproven(deps, new Map(rows.map((row) => [row.tenant_id, row.checked_at])))
  return `${plural(tenants.length, 'repository', 'repositories')} queued for checks, ${data.length} of them with all data`
}

async function drill(deps: SnapshotsDeps): Promise<string> {
  const now = isoNow(deps.clock)
  const newest = await newestPerTenant(deps.db, now)
  const boxes = (await managedBoxes(deps)).filter(({ tenantId }) => newest.has(tenantId))
  const tried = await lastTried(deps.db, now)
  const proven = await lastProofs(deps.db, now)
  const candidates = boxes.map(({ tenantId }) => ({
    boxId: tenantId,
    lastProvenAt: proven.get(tenantId) ?? null,
    lastTriedAt: tried.get(tenantId) ?? null,
  }))
  const due = dueDrills(candidates, now)
  await enqueueTasks(deps, 'drill', due)
  return `${plural(due.length, 'box', 'boxes')} of ${boxes.length} queued for drills`
}

const tenantsWithSnapshots = async ({ db }: SnapshotsDeps, statuses: readonly SnapshotStatus[]): Promise<string[]> => {
  const rows = await db.selectFrom('snapshots').select('tenant_id').distinct().where('status', 'in', statuses).execute()
  return rows.map(({ tenant_id }) => tenant_id).sort()
}

const historyMs = 400 * 24 * 60 * 60_000

/** Deletes records of deleted snapshots and drills after 400 days. */
async function deleteHistory({ db, clock }: SnapshotsDeps): Promise<number> {
  const before = isoIn(clock, -historyMs)
  const gone = await db
    .deleteFrom('snapshots')
    .where('status', 'in', ['forgotten', 'missing'])
    .where('taken_at', '<=', before)
    .where('recorded_at', '<=', before)
    .executeTakeFirst()
  const drills = await db.deleteFrom('snapshot_drills').where('at', '<=', before).executeTakeFirst()
  return Number(gone.numDeletedRows) + Number(drills.numDeletedRows)
}
