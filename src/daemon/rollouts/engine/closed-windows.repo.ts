import { sql } from 'kysely'
import { tierOf } from '../../../core/boxes/index.ts'
import { type ClosedWindow, calendarsFrom, closedWindow, explainWait, type Phase, updateNeedsMs } from '../../../core/rollouts/index.ts'
import { type WindowRules, windowInForce } from '../../../core/windows/index.ts'
import { type DbOrTx, prepared } from '../../db/index.ts'
import { ownWindowOf } from '../../tenants/index.ts'
import type { RolloutInSight } from './rollout-in-sight.repo.ts'

/** Boxes of a phase that wait for their maintenance window, by slug, and those of which it must be told anew, or that they wait no longer. */
export type ClosedWindows = Readonly<{ waits: ReadonlyMap<string, ClosedWindow>; untold: ReadonlySet<string> }>

export const noWindows: ClosedWindows = { waits: new Map(), untold: new Set() }

/** An emergency does not wait, nor does a rollout that was told so. */
export const keepsWindows = ({ kind, ignoreWindows }: Pick<RolloutInSight, 'kind' | 'ignoreWindows'>): boolean =>
  kind !== 'emergency_cve' && !ignoreWindows

type Wanted = Readonly<{ rollout: RolloutInSight; phase: Phase | undefined; windows: WindowRules; now: string }>

/** Looks at every box of the phase that has not begun, unless nobody has a window: rounds are many, and most platforms have none. */
export async function closedWindows(db: DbOrTx, { rollout, phase, windows, now }: Wanted): Promise<ClosedWindows> {
  if (!phase || !keepsWindows(rollout) || !(await anyWindow(db, windows, rollout.id))) return noWindows
  const waits = new Map<string, ClosedWindow>()
  const untold = new Set<string>()
  const calendarOf = calendarsFrom(Date.parse(now))
  for (const row of await notBegun(db, rollout.id, phase)) {
    const inForce = row.plan && windowInForce(windows, tierOf(row.plan), ownWindowOf(row))
    const needed = updateNeedsMs({ expectedMs: Number(row.expected_ms), expectedFenceMs: Number(row.expected_fence_ms) })
    const closed = inForce ? closedWindow(inForce, calendarOf, now, needed) : null
    if (closed) waits.set(row.slug, closed)
    if (closed ? row.progress !== null && said(row.progress) === explainWait(closed) : isTold(row.waits_until, now)) continue
    untold.add(row.slug)
  }
  return { waits, untold }
}

const said = (progress: string): unknown => JSON.parse(progress).detail

/** What waits for nothing, or for an hour that has come: that says itself that the box waits only for a free place. */
const isTold = (waitsUntil: string | null, now: string): boolean => waitsUntil === null || waitsUntil <= now

async function anyWindow(db: DbOrTx, { windows }: WindowRules, rolloutId: string): Promise<boolean> {
  if (Object.values(windows).some((window) => window !== null)) return true
  return (await someWindow(db, { rolloutId })).rows.length > 0
}

const someWindow = prepared<{ rolloutId: string }, unknown>(
  (_, place) => sql`
    select 1 as found
    where exists (select 1 from tenants where maintenance_window is not null)
    or exists (
      select 1 from rollout_actions
      where rollout_id = ${place('rolloutId')} and status = 'pending' and waits_until is not null
    )`,
)

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
