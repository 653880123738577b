import { sql } from 'kysely'
import { tierOf } from '../../../core/boxes/index.ts'
import {
  assignSlots,
  type ClosedWindow,
  calendarsFrom,
  closedWindow,
  type EngineAction,
  explainWait,
  failedStatuses,
  inFlightStatuses,
  type Parallelism,
  type Phase,
  updateNeedsMs,
} from '../../../core/rollouts/index.ts'
import { type WindowRules, windowInForce } from '../../../core/windows/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { ownWindowOf } from '../../tenants/index.ts'
import { parseJson, rollbackOf } from '../action-row.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

// The engine observes a rollout several times per box, so it must not read all boxes. For the actions read here, core plans the same steps
// as for all actions of the rollout; a test holds both to that.

/** By slug, without the rollout's own. */
type Holds = ReadonlyMap<string, NonNullable<EngineAction['held']>>

type Updates = Readonly<{
  rolloutId: string
  /** Undefined while the rollout is in none: then only actions in flight and failed ones count. */
  phase: Phase | undefined
  holds: Holds
  windows: ClosedWindows
  limits: Parallelism
}>

/** Actions in flight, failed ones, those that wait for a hold or a window or show that they do, and those that may begin next. */
export async function actionsToUpdate(db: DbOrTx, { rolloutId, phase, holds, windows, limits }: Updates): Promise<EngineAction[]> {
  const read = reader(db, rolloutId, { holds, windows })
  const begun = await read((query) => query.where('action.status', 'in', [...inFlightStatuses, ...failedStatuses]))
  if (!phase) return begun
  const pending = (narrow: Narrowing) =>
    read((query) => narrow(query.where('action.status', '=', 'pending').where('action.phase', '=', phase)))
  // Thousands may wait for the same window to open: only those whose text changes are read.
  const shownWaiting = await pending((query) => query.where('action.progress', 'is not', null).where('action.waits_until', 'is', null))
  const held = await readBySlug(pending, [...new Set([...holds.keys(), ...windows.outdated])])
  const page: Page = (limit, offset) =>
    pending((query) => query.orderBy('action.expected_ms', 'desc').orderBy('action.slug').limit(limit).offset(offset))
  const next = await readNext(page, inFlightAmong(begun), limits)
  return distinct([...begun, ...shownWaiting, ...held, ...next])
}

type Rollbacks = Readonly<{ rolloutId: string; holds: Holds; limits: Parallelism }>

/** Actions in flight, stalled ones, those that wait for a hold or show that they do, and those that may be rolled back next. */
export async function actionsToRollBack(db: DbOrTx, { rolloutId, holds, limits }: Rollbacks): Promise<EngineAction[]> {
  const read = reader(db, rolloutId, { holds, windows: noWindows })
  const begun = await read((query) => query.where('action.status', 'in', [...inFlightStatuses, 'rollback_failed']))
  const pending = (narrow: Narrowing) =>
    read((query) => narrow(query.where('action.status', '=', 'succeeded').where('action.rollback_status', '=', 'pending')))
  const shownWaiting = await pending((query) => query.where('action.progress', 'like', '{"step":"wait"%'))
  const held = await readBySlug(pending, [...holds.keys()])
  const page: Page = (limit, offset) =>
    pending((query) => query.orderBy('action.finished_at', 'desc').orderBy('action.slug', 'desc').limit(limit).offset(offset))
  const next = await readNext(page, inFlightAmong(begun), limits)
  return distinct([...begun, ...shownWaiting, ...held, ...next])
}

const inFlightAmong = (actions: readonly EngineAction[]) => actions.filter(({ status }) => inFlight.has(status))
const inFlight: ReadonlySet<string> = new Set(inFlightStatuses)

const distinct = (actions: readonly EngineAction[]): EngineAction[] => [...new Map(actions.map((action) => [action.slug, action])).values()]

const actionsOfRollout = (db: DbOrTx, rolloutId: string) =>
  db
    .selectFrom('rollout_actions as action')
    .leftJoin('hosts as host', 'host.id', 'action.host_id')
    .select(['action.slug', 'action.host_id', 'host.name as host_name', 'action.phase', 'action.status', 'action.waived'])
    .select(['action.step', 'action.command_id', 'action.progress', 'action.expected_ms', 'action.overdue_at', 'action.finished_at'])
    .select(['action.rollback_mode', 'action.rollback_status', 'action.rollback_error', 'action.waits_until', 'action.error'])
    .where('action.rollout_id', '=', rolloutId)

type Query = ReturnType<typeof actionsOfRollout>
type Narrowing = (query: Query) => Query
type Read = (narrow: Narrowing) => Promise<EngineAction[]>
type Row = Awaited<ReturnType<Query['execute']>>[number]

type Waits = Readonly<{ holds: Holds; windows: ClosedWindows }>

const reader =
  (db: DbOrTx, rolloutId: string, waits: Waits): Read =>
  async (narrow) =>
    (await narrow(actionsOfRollout(db, rolloutId)).execute()).map((row) => engineAction(row, waits))

const engineAction = (row: Row, { holds, windows }: Waits): EngineAction => ({
  slug: row.slug,
  hostId: row.host_id,
  hostName: row.host_name ?? row.host_id,
  held: holds.get(row.slug) ?? windows.closed.get(row.slug) ?? null,
  phase: row.phase,
  status: row.status,
  waived: row.waived === 1,
  rollback: rollbackOf(row),
  finishedAt: row.finished_at,
  step: row.step,
  commandId: row.command_id,
  progress: hasOpened(row, windows) ? null : parseJson(row.progress),
  expectedMs: Number(row.expected_ms),
  overdue: row.overdue_at !== null,
  error: parseJson(row.error),
})

/** The window that it waited for has opened: its stored text needs no update. */
const hasOpened = ({ slug, waits_until }: Row, { closed, outdated }: ClosedWindows): boolean =>
  waits_until !== null && !closed.has(slug) && !outdated.has(slug)

const slugsPerQuery = 100

async function readBySlug(read: Read, slugs: readonly string[]): Promise<EngineAction[]> {
  const found: EngineAction[] = []
  for (let from = 0; from < slugs.length; from += slugsPerQuery) {
    const some = slugs.slice(from, from + slugsPerQuery)
    found.push(...(await read((query) => query.where('action.slug', 'in', some))))
  }
  return found
}

/** A page of the actions that have not begun, in the order in which they begin. */
type Page = (limit: number, offset: number) => Promise<EngineAction[]>

const firstPage = 4

/** Reads pages until every free slot has an action, or none is left: hosts may be busy and boxes held. */
async function readNext(page: Page, flying: readonly EngineAction[], limits: Parallelism): Promise<EngineAction[]> {
  const slots = limits.parallel - flying.length
  if (slots <= 0) return []
  const found: EngineAction[] = []
  for (let size = Math.max(firstPage, slots * 2); ; size *= 4) {
    const more = await page(size, found.length)
    found.push(...more)
    const free = found.filter(({ held }) => held === null)
    if (more.length < size || assignSlots(free, flying, limits).length >= slots) return found
  }
}

/** Boxes of a phase whose maintenance window is closed, by slug; `outdated`: boxes whose stored wait says something else by now. */
export type ClosedWindows = Readonly<{ closed: ReadonlyMap<string, ClosedWindow>; outdated: ReadonlySet<string> }>

export const noWindows: ClosedWindows = { closed: new Map(), outdated: new Set() }

/** An emergency ignores windows, and so does a rollout that was created to. */
export const keepsWindows = ({ kind, ignoreWindows }: Pick<StoredRollout, 'kind' | 'ignoreWindows'>): boolean =>
  kind !== 'emergency_cve' && !ignoreWindows

type WindowQuery = Readonly<{
  rollout: Pick<StoredRollout, 'id' | 'kind' | 'ignoreWindows'>
  phase: Phase | undefined
  windows: WindowRules
  now: string
}>

/** Reads every box of the phase that has not begun, unless no window is set anywhere. */
export async function closedWindows(db: DbOrTx, { rollout, phase, windows, now }: WindowQuery): Promise<ClosedWindows> {
  if (!phase || !keepsWindows(rollout) || !(await anyWindow(db, windows, rollout.id))) return noWindows
  const closed = new Map<string, ClosedWindow>()
  const outdated = new Set<string>()
  const calendarOf = calendarsFrom(Date.parse(now))
  for (const row of await notBegun(db, rollout.id, phase)) {
    const window = row.plan && windowInForce(windows, tierOf(row.plan), ownWindowOf(row))
    const neededMs = updateNeedsMs({ expectedMs: Number(row.expected_ms), expectedFenceMs: Number(row.expected_fence_ms) })
    const wait = window ? closedWindow(window, calendarOf, { now, neededMs }) : null
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
