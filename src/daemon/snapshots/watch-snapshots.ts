import { isoIn, isoNow } from '../../core/kit/index.ts'
import { closeAlerts, openKeysOf, raiseAlert } from '../alerts/index.ts'
import type { LeasedLoop } from '../feature/index.ts'
import { lateKey, snapshotsLate } from './alerts.ts'
import type { SnapshotsDeps } from './deps.ts'
import { newestPerTenant, tenantsOfLostStores } from './snapshots.repo.ts'

type Deps = Pick<SnapshotsDeps, 'db' | 'clock'>

/** Yesterday's snapshot is overdue after this. */
const lateMs = 26 * 60 * 60_000

/** Raises `snapshot_overdue` when the newest snapshot of a managed box is older than the schedule demands, and closes it when there is a newer one. */
export const ageWatch = (deps: Deps): LeasedLoop => ({
  name: 'watch the age of snapshots',
  everyMs: 60_000,
  lease: { name: 'snapshots.watch', ttlMs: 150_000 },
  run: async () => {
    const late = await lateBoxes(deps)
    const isOpen = (await openKeysOf(deps.db, 'snapshot_overdue')).some(({ key }) => key === lateKey)
    if (isOpen !== late.length > 0) await alertLate(deps, late)
  },
})

/** Raised again by the daily job while it lasts, with the boxes of that day. */
export const remindOfLate = async (deps: Deps): Promise<void> => alertLate(deps, await lateBoxes(deps))

type LateBox = Readonly<{ slug: string; tenantId: string }>

async function alertLate({ db, clock }: Deps, late: readonly LateBox[]): Promise<void> {
  const [first, ...others] = late.length === 0 ? [] : await oldestFirst({ db, clock }, late)
  await db.transaction().execute(async (tx) => {
    if (first) await raiseAlert(tx, clock, snapshotsLate([first, ...others]))
    else
      await closeAlerts(tx, clock, {
        keys: [lateKey],
        because: 'every box has a recent snapshot, or its store is lost, which is an alert of its own',
      })
  })
}

/** The oldest snapshot first. This reads all snapshots, so only an alert that is raised does it. */
async function oldestFirst({ db, clock }: Deps, late: readonly LateBox[]) {
  const newest = await newestPerTenant(db, isoNow(clock))
  return late
    .map(({ slug, tenantId }) => ({ slug, newestAt: newest.get(tenantId) ?? null }))
    .toSorted((a, b) => ((a.newestAt ?? '') < (b.newestAt ?? '') ? -1 : 1))
}

/** A snapshot that no command reported may be incomplete, and one of the future is of a clock that was wrong. */
async function lateBoxes({ db, clock }: Deps): Promise<readonly LateBox[]> {
  const [now, lateSince] = [isoNow(clock), isoIn(clock, -lateMs)]
  const boxes = await db
    .selectFrom('boxes')
    .select(['slug', 'tenant_id as tenantId'])
    .where('live', '=', 1)
    .where('managed', '=', 1)
    .where('created_at', '<=', lateSince)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('snapshots')
            .select('snapshot_id')
            .whereRef('snapshots.tenant_id', '=', 'boxes.tenant_id')
            .where('status', '=', 'present')
            .where('taken_at', '>', lateSince)
            .where('taken_at', '<=', now)
            .whereRef('snapshots.box_id', '=', 'boxes.id')
            .where('sha256', 'is not', null),
        ),
      ),
    )
    .orderBy('slug')
    .execute()
  if (boxes.length === 0) return []
  // `snapshot_store_lost` says it once.
  const lost = await tenantsOfLostStores(db)
  return boxes.filter(({ tenantId }) => !lost.has(tenantId))
}
