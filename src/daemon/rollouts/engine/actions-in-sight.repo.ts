import { type RawBuilder, sql } from 'kysely'
import {
  assignSlots,
  type EngineAction,
  failedStatuses,
  inFlightStatuses,
  type Parallelism,
  type Phase,
} from '../../../core/rollouts/index.ts'
import { type DbOrTx, prepared, yieldToEventLoop } from '../../db/index.ts'
import { read, undoOf } from '../action-row.ts'
import { type ClosedWindows, noWindows } from './closed-windows.repo.ts'

// A round is taken several times per box, so it must not read all boxes. `decide` answers the same for what is read here as for all actions
// of the rollout (a test holds it to that): what never begins next, and what has ended well, changes none of its steps. A host is called by its
// id here: its name is read by `withHostNames` where it is told.

type Hold = NonNullable<EngineAction['held']>

type Wanted = Readonly<{
  rolloutId: string
  /** Undefined while the rollout is in none: then only what is in flight counts. */
  phase: Phase | undefined
  /** By slug. */
  holds: ReadonlyMap<string, Hold>
  windows: ClosedWindows
  limits: Parallelism
}>

/** All that `decide` needs to see: what is in flight, what failed, who waits for a hold or was told so, and who may be next. */
export async function actionsInSight(db: DbOrTx, wanted: Wanted): Promise<EngineAction[]> {
  const { rolloutId, phase, holds, windows, limits } = wanted
  const asSeen = reader(holds, windows)
  if (!phase) return (await touched(db, { rolloutId })).rows.map(asSeen)
  const known = (await touchedOrTold(db, { rolloutId, phase })).rows.map(asSeen)
  const flying = known.filter(({ status }) => flies.has(status))
  const pending: Look = (more) =>
    lookInto(db, rolloutId, holds, windows)((query) => more(query.where('action.status', '=', 'pending').where('phase', '=', phase)))
  const held = await heldAmong(pending, [...new Set([...holds.keys(), ...windows.untold])])
  const page: Page = async (limit, offset) => (await inTurn(db, { rolloutId, phase, limit, offset })).rows.map(asSeen)
  const next = await nextInTurn(page, flying, limits)
  const seen = new Map([...known, ...held, ...next].map((action) => [action.slug, action]))
  return [...seen.values()]
}

const flies: ReadonlySet<string> = new Set(inFlightStatuses)

const columns = (db: DbOrTx, rolloutId: string | RawBuilder<string>) =>
  db
    .selectFrom('rollout_actions as action')
    .select(['slug', 'host_id', 'phase', 'action.status', 'waived', 'step', 'command_id'])
    .select(['progress', 'expected_ms', 'overdue_at', 'finished_at', 'undo_mode', 'undo_status', 'undo_error', 'waits_until', 'error'])
    .where('rollout_id', '=', rolloutId)

type OfPhase = { rolloutId: string; phase: Phase }

const pendingOf = (db: DbOrTx, rolloutId: RawBuilder<string>, phase: RawBuilder<Phase>) =>
  columns(db, rolloutId).where('action.status', '=', 'pending').where('phase', '=', phase)

const touchedOf = (db: DbOrTx, rolloutId: RawBuilder<string>) =>
  columns(db, rolloutId).where('action.status', 'in', [...inFlightStatuses, ...failedStatuses])

const touched = prepared<{ rolloutId: string }, Row>((db, place) => touchedOf(db, place('rolloutId')))
/** And those that were told for whom they wait. Thousands may wait for the same hour: of them only those of which something new is to be told. */
const touchedOrTold = prepared<OfPhase, Row>((db, place) =>
  touchedOf(db, place('rolloutId')).unionAll(
    pendingOf(db, place('rolloutId'), place('phase')).where('progress', 'is not', null).where('waits_until', 'is', null),
  ),
)
const inTurn = prepared<OfPhase & { limit: number; offset: number }, Row>((db, place) =>
  pendingOf(db, place('rolloutId'), place('phase'))
    .orderBy('expected_ms', 'desc')
    .orderBy('slug')
    .limit(sql<number>`${place('limit')} + 0`) // a bare parameter is looked at by SQLite's planner, anew each time
    .offset(place('offset')),
)

type Query = ReturnType<typeof columns>
type Narrowing = (query: Query) => Query
type Look = (narrow: Narrowing) => Promise<EngineAction[]>
type Row = Awaited<ReturnType<Query['execute']>>[number]
/** So many of those that have not begun, in their turn. */
type Page = (limit: number, offset: number) => Promise<EngineAction[]>

export const lookInto =
  (db: DbOrTx, rolloutId: string, holds: Wanted['holds'], windows: ClosedWindows = noWindows): Look =>
  async (narrow) =>
    (await narrow(columns(db, rolloutId)).execute()).map(reader(holds, windows))

const reader =
  (holds: Wanted['holds'], windows: ClosedWindows) =>
  (row: Row): EngineAction => ({
    slug: row.slug,
    hostId: row.host_id,
    hostName: row.host_id,
    held: holds.get(row.slug) ?? windows.waits.get(row.slug) ?? null,
    phase: row.phase,
    status: row.status,
    waived: row.waived === 1,
    undo: undoOf(row),
    finishedAt: row.finished_at,
    step: row.step,
    commandId: row.command_id,
    progress: isPassed(row, windows) ? null : read(row.progress),
    expectedMs: Number(row.expected_ms),
    overdue: row.overdue_at !== null,
    error: read(row.error),
  })

/** The hour that it waited for has come; what was told of it says so itself. */
const isPassed = ({ slug, waits_until }: { slug: string; waits_until: string | null }, { waits, untold }: ClosedWindows): boolean =>
  waits_until !== null && !waits.has(slug) && !untold.has(slug)

const slugsPerQuery = 100

export async function heldAmong(pending: Look, slugs: readonly string[]): Promise<EngineAction[]> {
  const found: EngineAction[] = []
  for (let from = 0; from < slugs.length; from += slugsPerQuery) {
    found.push(...(await pending((query) => query.where('slug', 'in', slugs.slice(from, from + slugsPerQuery)))))
    await yieldToEventLoop()
  }
  return found
}

const firstLook = 4

/** Those whose turn is next, looked for until every free place has one or nobody is left: hosts may be busy, boxes held. */
export async function nextInTurn(nextPage: Page, flying: readonly EngineAction[], limits: Parallelism): Promise<EngineAction[]> {
  const places = limits.parallel - flying.length
  if (places <= 0) return []
  const seen: EngineAction[] = []
  for (let size = Math.max(firstLook, places * 2); ; size *= 4) {
    const page = await nextPage(size, seen.length)
    seen.push(...page)
    await yieldToEventLoop()
    const free = seen.filter(({ held }) => held === null)
    if (page.length < size || assignSlots(free, flying, limits).length >= places) return seen
  }
}
