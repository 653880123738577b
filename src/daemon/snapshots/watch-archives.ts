import { alertKey } from '../../core/alerts/index.ts'
import { isoIn, isoNow } from '../../core/kit/index.ts'
import { closeAlerts, openKeysOf, raiseAlert } from '../alerts/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { LeasedLoop } from '../feature/index.ts'
import { archiveBehind } from './alerts.ts'
import { errorOfState, linesWithoutBase } from './archive.repo.ts'
import type { SnapshotsDeps } from './deps.ts'
import { archivedBoxes } from './exchange-archives.ts'

type Deps = Pick<SnapshotsDeps, 'db' | 'clock' | 'archive'>

const behindMs = 5 * 60_000
/** A new box first needs a repository and a base. */
const graceMs = 30 * 60_000

export const archiveWatch = (deps: Deps): LeasedLoop => ({
  name: 'watch the archives',
  everyMs: 60_000,
  lease: { name: 'snapshots.archives', ttlMs: 150_000 },
  run: () => watchArchives(deps),
})

/** Raises `archive_behind` for boxes whose store lacks more than five minutes, or a base, and closes it once it has them. */
export async function watchArchives(deps: Deps): Promise<void> {
  const { db, clock } = deps
  const late = await behindBoxes(deps)
  const open = await openKeysOf(db, 'archive_behind')
  const keys = new Set(late.map(({ slug }) => alertKey('archive_behind', slug)))
  const over = open.map(({ key }) => key).filter((key) => !keys.has(key))
  const fresh = late.filter(({ slug }) => !open.some(({ key }) => key === alertKey('archive_behind', slug)))
  if (over.length === 0 && fresh.length === 0) return
  await db.transaction().execute(async (tx) => {
    for (const box of fresh) await raiseAlert(tx, clock, archiveBehind(box))
    if (over.length > 0)
      await closeAlerts(tx, clock, { keys: over, because: 'the store has the log of the box, or it has no archive any more' })
  })
}

type Behind = Readonly<{ slug: string; coveredUntil: string | null; error: ReturnType<typeof errorOfState> }>

async function behindBoxes({ db, clock, archive }: Pick<Deps, 'clock' | 'archive'> & Readonly<{ db: DbOrTx }>): Promise<readonly Behind[]> {
  const boxes = await archivedBoxes(db, archive.tiers)
  if (boxes.length === 0) return []
  const states = new Map((await db.selectFrom('archive_states').selectAll().execute()).map((row) => [row.box_id, row]))
  const withoutBase = await linesWithoutBase(db)
  const [since, youngSince] = [isoIn(clock, -behindMs), isoIn(clock, -graceMs)]
  return boxes.flatMap(({ id, slug, createdAt }) => {
    const state = states.get(id)
    const coveredUntil = state?.covered_until ?? null
    const lineBegun = withoutBase.get(id)
    const hasNoBase = lineBegun !== undefined && lineBegun <= youngSince
    const isLate = hasNoBase || (coveredUntil === null ? createdAt <= youngSince : coveredUntil <= since)
    return isLate ? [{ slug, coveredUntil: hasNoBase ? null : coveredUntil, error: errorOfState(state?.error ?? null) }] : []
  })
}

/** How far the archive that is furthest behind is behind, in seconds; zero without archives. */
export async function archiveBehindSeconds({ db, clock, archive }: Pick<Deps, 'db' | 'clock' | 'archive'>): Promise<number> {
  const boxes = await archivedBoxes(db, archive.tiers)
  if (boxes.length === 0) return 0
  const states = new Map(
    (await db.selectFrom('archive_states').select(['box_id', 'covered_until']).execute()).map((row) => [row.box_id, row]),
  )
  const withoutBase = await linesWithoutBase(db)
  const now = Date.parse(isoNow(clock))
  const behind = boxes.map(({ id, createdAt }) => now - Date.parse(withoutBase.get(id) ?? states.get(id)?.covered_until ?? createdAt))
  return Math.max(0, ...behind) / 1000
}
