import { sql } from 'kysely'
import { tierOf } from '../../../core/boxes/index.ts'
import { type ClosedWindow, calendarsFrom, closedWindow, explainWait, type Phase, updateNeedsMs } from '../../../core/rollouts/index.ts'
import { type WindowRules, windowInForce } from '../../../core/windows/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { ownWindowOf } from '../../tenants/index.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/** Boxes of a phase whose maintenance window is closed, by slug; `outdated`: boxes whose stored wait says something else by now. */
export type ClosedWindows = Readonly<{ closed: ReadonlyMap<string, ClosedWindow>; outdated: ReadonlySet<string> }>

export const noWindows: ClosedWindows = { closed: new Map(), outdated: new Set() }

/** An emergency ignores windows, and so does a rollout that was created to. */
export const keepsWindows = ({ kind, ignoreWindows }: Pick<StoredRollout, 'kind' | 'ignoreWindows'>): boolean =>
  kind !== 'emergency_cve' && !ignoreWindows

type Query = Readonly<{
  rollout: Pick<StoredRollout, 'id' | 'kind' | 'ignoreWindows'>
  phase: Phase | undefined
  windows: WindowRules
  now: string
}>

/** Reads every box of the phase that has not begun, unless no window is set anywhere. */
export async function closedWindows(db: DbOrTx, { rollout, phase, windows, now }: Query): Promise<ClosedWindows> {
  if (!phase || !keepsWindows(rollout) || !(await anyWindow(db, windows, rollout.id))) return noWindows
  const closed = new Map<string, ClosedWindow>()
  const outdated = new Set<string>()
  const calendarOf = calendarsFrom(Date.parse(now))
  for (const row of await notBegun(db, rollout.id, phase)) {
    const window = row.plan && windowInForce(windows, tierOf(row.plan), ownWindowOf(row))
    const neededMs = updateNeedsMs({ expectedMs: Number(row.expected_ms), expectedFenceMs: Number(row.expected_fence_ms) })
    const wait = window ? closedWindow(window, calendarOf, now, neededMs) : null
    if (wait) closed.set(row.slug, wait)
    const isCurrent = wait ? detailOf(row.progress) === explainWait(wait) : row.waits_until === null || row.waits_until <= now
    if (!isCurrent) outdated.add(row.slug)
  }
  return { closed, outdated }
}

const detailOf = (progress: string | null): unknown => (progress === null ? undefined : JSON.parse(progress).detail)

async function anyWindow(db: DbOrTx, { windows }: WindowRules, rolloutId: string): Promise<boolean> {
  if (Object.values(windows).some((window) => window !== null)) return true
  const { rows } = await sql`
    select 1 as found
    where exists (select 1 from tenants where maintenance_window is not null)
    or exists (select 1 from rollout_actions where rollout_id = ${rolloutId} and status = 'pending' and waits_until is not null)`.execute(
    db,
  )
  return rows.length > 0
}

const notBegun = (db: DbOrTx, rolloutId: string, phase: Phase) =>
  db
    .selectFrom('rollout_actions as action')
    .leftJoin('tenants as tenant', 'tenant.slug', 'action.slug')
    .select(['action.slug', 'expected_ms', 'expected_fence_ms', 'waits_until', 'progress'])
    .select(['tenant.plan', 'tenant.time_zone', 'tenant.maintenance_window'])
    .where('rollout_id', '=', rolloutId)
    .where('action.status', '=', 'pending')
    .where('phase', '=', phase)
    .execute()
